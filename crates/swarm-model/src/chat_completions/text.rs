//! JSON strings as they are sent: joined and measured without being parsed.

use std::borrow::Cow;

use serde_json::value::{RawValue, to_raw_value};
