//! `Mcp-Param-*`: headers that repeat arguments of a tool.

use serde_json::value::RawValue;

use crate::era::Context;
use crate::headers::{Field, bound_by, decimal, decoded, differs, required};
use crate::members::{self, Slot};
use crate::raw;
use crate::tools::{HeaderParam, Tool};
use crate::wire_error::WireError;

/// Step 9, once the tool is found: `Mcp-Param-*` have to repeat the arguments that
/// the tool's schema annotates with `x-mcp-header`.
///
/// `fields` looks a header up by its name, in lower case. An argument that is
/// missing or `null` must have no header, any other has to have one with its value:
/// a string as it is or in the Base64 form of
/// [`encode_header_text`](crate::encode_header_text), `true`, `false`, or a number,
/// where `42.0` equals `42`. Other `Mcp-Param-*` are ignored (M-HDR-08).
///
/// # Errors
///
/// -32020 when a header is missing, invalid, not decodable, different, or without
/// an argument. The message names the header, never a value.
///
/// Source: M-HDR-04, M-HDR-06 to M-HDR-08, M-HDR-12.
pub fn check_param_headers<'h>(
    fields: impl Fn(&str) -> Field<'h>,
    context: &Context,
    tool: &Tool,
    arguments: Option<&RawValue>,
) -> Result<(), WireError> {
    if bound_by(context).is_none() {
        return Ok(());
    }
    tool.header_params().iter().try_for_each(|param| {
        let header = param.header();
        match (argument(param, arguments), fields(header)) {
            (Slot::Absent, Field::Absent) => Ok(()),
            (Slot::One(value), field) => {
                let text = decoded(required(field, header)?, header)?;
                if repeats(&text, value) {
                    Ok(())
                } else {
                    Err(differs(header))
                }
            }
            (Slot::Absent | Slot::Twice, _) => Err(differs(header)),
        }
    })
}

// === Behind the handle ===

/// Finds an argument; `null` is as good as none (M-HDR-06), and one whose place is
/// not clear is [`Slot::Twice`].
fn argument<'a>(param: &HeaderParam, arguments: Option<&'a RawValue>) -> Slot<'a> {
    let mut found = arguments.map_or(Slot::Absent, Slot::One);
    for name in param.path() {
        found = match found {
            Slot::One(object) if raw::is_object(object) => {
                members::read(object.get(), &[name]).map_or(Slot::Twice, |[slot]| slot)
            }
            Slot::One(_) => Slot::Absent,
            Slot::Absent | Slot::Twice => return found,
        };
    }
    if found.one().is_some_and(raw::is_null) {
        Slot::Absent
    } else {
        found
    }
}

/// Whether a header's text stands for this value. For arrays and objects, which the
/// schema does not allow, none does.
fn repeats(text: &str, value: &RawValue) -> bool {
    if raw::is_number(value) {
        decimal::is_same(text, value.get())
    } else if raw::is_boolean(value) {
        text == value.get()
    } else {
        raw::string(value).is_some_and(|value| value == text)
    }
}
