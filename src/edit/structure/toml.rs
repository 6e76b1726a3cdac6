//! TOML by key. Arrays are sets of their values, and a dependency may be a version or a table.

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value};

use super::super::cargo_toml::add_value;

pub(super) fn merge(old: &str, new: &str, theirs: &str) -> Option<String> {
    let [old, new, mut theirs] = [old, new, theirs].map(|text| text.parse::<DocumentMut>().ok());
    let merged = theirs.as_mut()?;
    merge_tables(old?.as_table(), new?.as_table(), merged.as_table_mut())?;
    Some(merged.to_string())
}

fn merge_tables(old: &dyn TableLike, new: &dyn TableLike, theirs: &mut dyn TableLike) -> Option<()> {
    let keys: Vec<String> = theirs.iter().map(|(key, _)| key.to_owned()).collect();
    let sorted = keys.len() > 1 && keys.is_sorted();
    for (key, was) in old.iter() {
        match (new.get(key), theirs.get(key)) {
            (None, Some(there)) if is_same(was, there) => _ = theirs.remove(key),
            (None, Some(_)) => return None,
            _ => {}
        }
    }
    let mut inserted = false;
    for (key, now) in new.iter() {
        match (old.get(key), theirs.get_mut(key)) {
            (Some(was), _) if is_same(was, now) => {}
            (_, Some(there)) if is_same(there, now) => {}
            (Some(was), Some(there)) => merge_items(was, now, there)?,
            // Both have added a table.
            (None, Some(there)) if now.is_table_like() => {
                merge_tables(&InlineTable::new(), now.as_table_like()?, there.as_table_like_mut()?)?;
            }
            (None, None) => {
                if let Some((_, last)) = theirs.iter_mut().last() {
                    clear_space(last);
                }
                let mut now = now.clone();
                clear_space(&mut now);
                theirs.insert(key, now);
                // The comments above it.
                if let (Some((from, _)), Some(mut to)) = (new.get_key_value(key), theirs.key_mut(key)) {
                    *to.leaf_decor_mut() = from.leaf_decor().clone();
                }
                inserted = true;
            }
            (Some(_), None) | (None, Some(_)) => return None,
        }
    }
    if inserted && sorted && !theirs.iter().any(|(_, item)| item.is_table()) {
        theirs.sort_values();
    }
    Some(())
}

/// Removes the space around a value, for another place in an inline table.
fn clear_space(item: &mut Item) {
    let Some(decor) = item.as_value_mut().map(Value::decor_mut) else { return };
    let space = [decor.prefix(), decor.suffix()].into_iter().flatten().filter_map(|text| text.as_str());
    if space.collect::<String>().trim().is_empty() {
        decor.clear();
    }
}

fn merge_items(old: &Item, new: &Item, theirs: &mut Item) -> Option<()> {
    if is_same(old, theirs) {
        replace(theirs, new);
        return Some(());
    }
    if let (Some(old), Some(new), Some(theirs)) = (old.as_array(), new.as_array(), theirs.as_array_mut()) {
        merge_sets(old, new, theirs);
        return Some(());
    }
    if ![old, new, theirs].iter().any(|item| item.is_table_like()) {
        return None;
    }
    let [old, new] = [as_table(old)?, as_table(new)?];
    if let Some(version) = theirs.as_str() {
        // The author has changed the version.
        let mut table = InlineTable::new();
        table.insert("version", version.into());
        *theirs = Item::Value(Value::InlineTable(table));
    }
    merge_tables(old.as_table_like()?, new.as_table_like()?, theirs.as_table_like_mut()?)
}

/// The table of a dependency that is a version alone.
fn as_table(item: &Item) -> Option<Item> {
    if item.is_table_like() {
        return Some(item.clone());
    }
    let mut table = InlineTable::new();
    table.insert("version", item.as_str()?.into());
    Some(Item::Value(Value::InlineTable(table)))
}

/// Replaces an item and keeps the comments around it, and the layout of what stays.
fn replace(theirs: &mut Item, new: &Item) {
    let old = theirs.clone();
    match (theirs, new) {
        (Item::Value(Value::Array(theirs)), Item::Value(Value::Array(new))) => {
            let Item::Value(Value::Array(old)) = &old else { return };
            merge_sets(old, new, theirs);
        }
        (Item::Value(theirs), Item::Value(new)) if !new.is_inline_table() || !theirs.is_inline_table() => {
            let decor = theirs.decor().clone();
            *theirs = new.clone();
            *theirs.decor_mut() = decor;
        }
        (theirs, new) => {
            if let (Some(old), Some(new), Some(theirs)) =
                (old.as_table_like(), new.as_table_like(), theirs.as_table_like_mut())
            {
                let _merged = merge_tables(old, new, theirs);
            } else {
                *theirs = new.clone();
            }
        }
    }
}

fn merge_sets(old: &Array, new: &Array, theirs: &mut Array) {
    let has = |array: &Array, value: &Value| array.iter().any(|other| plain(other) == plain(value));
    theirs.retain(|value| !has(old, value) || has(new, value));
    for value in new.iter().filter(|value| !has(old, value)) {
        if !has(theirs, value) {
            add_value(theirs, value);
        }
    }
}

fn is_same(one: &Item, other: &Item) -> bool {
    match (one, other) {
        (Item::Value(one), Item::Value(other)) if !one.is_inline_table() && !other.is_inline_table() => {
            plain(one) == plain(other)
        }
        (Item::ArrayOfTables(one), Item::ArrayOfTables(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_table(one, other))
        }
        _ => match (as_table(one), as_table(other)) {
            (Some(one), Some(other)) => {
                one.as_table_like().zip(other.as_table_like()).is_some_and(|(one, other)| is_same_table(one, other))
            }
            _ => false,
        },
    }
}

fn is_same_table(one: &dyn TableLike, other: &dyn TableLike) -> bool {
    one.len() == other.len() && one.iter().all(|(key, item)| other.get(key).is_some_and(|other| is_same(item, other)))
}

/// A value without its layout. Arrays are sets.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", text.value()),
        Value::Array(array) => {
            let mut values: Vec<String> = array.iter().map(plain).collect();
            values.sort();
            format!("[{}]", values.join(","))
        }
        Value::InlineTable(table) => {
            let mut values: Vec<String> = table.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect();
            values.sort();
            format!("{{{}}}", values.join(","))
        }
        other => other.clone().decorated("", "").to_string(),
    }
}
