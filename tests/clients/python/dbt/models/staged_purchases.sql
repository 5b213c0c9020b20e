select id, customer_id, cast(amount as decimal(10,2)) as amount, cast(made as datetime) as made
from {{ ref('purchases') }}
