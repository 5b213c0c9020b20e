//! Databases that the store writes, checked by the second decoder.

mod damage;
mod harness;
mod reseal;
mod sound;
mod text;
