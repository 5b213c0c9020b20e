//! Functions with information about the session: `VERSION`, `DATABASE`, `USER`, `CONNECTION_ID`.

use std::sync::Arc;

use pelorus_error::Result;
use pelorus_types::collation;

use crate::call::Call;
use crate::context::EvalContext;
use crate::registry::errors::parameter_count;
use crate::types::result_type::{bigint_type, text_type};
use crate::value::{Arg, Coercibility, Value};

/// Binds one of them.
pub(crate) fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    if !args.is_empty() {
        return Err(parameter_count(name));
    }
    if name == "CONNECTION_ID" {
        let id = ctx.connection_id;
        let ty = bigint_type(21, true).not_null();
        return Ok(Call::rowwise(name, args, ctx, ty, move |_, _| Ok(Value::UInt(id))));
    }
    let chars = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let text_type = |chars| text_type(chars, collation::UTF8MB3_GENERAL_CI);
    let (text, ty) = match name {
        "VERSION" => {
            let ty = text_type(chars(&ctx.version)).not_null();
            (Some(ctx.version.clone()), ty)
        }
        "DATABASE" | "SCHEMA" => (ctx.database.clone(), text_type(64).nullable()),
        "CURRENT_USER" => (Some(ctx.current_user.clone()), text_type(288).nullable()),
        _ => (Some(ctx.user.clone()), text_type(288).nullable()),
    };
    let value = text.map_or(Value::Null, Value::Text);
    let call = Call::rowwise(name, args, ctx, ty, move |_, _| Ok(value.clone()));
    Ok(call.with_coercibility(Coercibility::SystemConstant))
}
