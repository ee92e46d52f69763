//! Settings of hosts: an entry that is put into any text is there, and gone after its removal; the
//! text then means what it meant before. A text that cannot be changed so is refused.

use crate::text;
use loci_hosts::{Form, Slot};
use serde_json::{Value, json};

/// The value of another entry in the same map, and of the map itself.
fn others(form: Form, text: &str) -> Option<[Option<Value>; 2]> {
    let get = |name| {
        let key = "servers";
        Slot { form, key, name }.get(text).ok()
    };
    Some([get("other")?, get("loci")?])
}

pub(crate) fn run(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for form in [Form::Json, Form::Toml, Form::Yaml] {
        let slot = Slot {
            form,
            key: "servers",
            name: "loci",
        };
        let entry = json!({"command": "loci", "args": ["mcp", "mememory"], "enabled": true});
        let Ok(with) = slot.put(text, &entry) else {
            continue;
        };
        assert_eq!(slot.get(&with), Ok(Some(entry.clone())), "{with}");
        assert_eq!(slot.put(&with, &entry).as_ref(), Ok(&with), "twice is once");
        let Some([other, before]) = others(form, text) else {
            panic!("what could be changed can be read: {text}")
        };
        let without = slot.remove(&with).expect("an entry of loci can be removed");
        assert_eq!(others(form, &without), Some([other, None]), "{without}");
        // The entry goes where the former one was, and comes back as it was.
        if let Some(before) = before {
            let back = slot.put(&with, &before).expect("an entry can be put back");
            assert_eq!(slot.get(&back), Ok(Some(before)), "{back}");
        }
    }
}
