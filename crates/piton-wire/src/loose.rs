//! Values that are forgiving by type: what is not of the kind that counts reads as nothing, because
//! some server sends each of these, and one odd field must not cost what stands beside it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What a value makes of each kind of JSON. Each is nothing unless it says otherwise.
pub(crate) trait Loose<'de>: Default {
    /// A string.
    fn of_str(_text: &str) -> Self {
        Self::default()
    }

    /// A string that can be borrowed.
    fn of_borrowed(text: &'de str) -> Self {
        Self::of_str(text)
    }

    /// A number that is whole and not negative.
    fn of_u64(_number: u64) -> Self {
        Self::default()
    }

    /// A number that is whole.
    fn of_i64(_number: i64) -> Self {
        Self::default()
    }

    /// Any other number.
    fn of_f64(_number: f64) -> Self {
        Self::default()
    }

    /// A list, which has to be read to its end.
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// An object, which has to be read to its end.
    fn of_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// Reads a value of any kind.
pub(crate) fn read<'de, T: Loose<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(AnyKind(PhantomData))
}

struct AnyKind<T>(PhantomData<T>);

impl<'de, T: Loose<'de>> Visitor<'de> for AnyKind<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok(T::of_str(text))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<T, E> {
        Ok(T::of_borrowed(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok(T::of_u64(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        Ok(T::of_i64(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Ok(T::of_f64(number))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::of_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::of_map(map)
    }
}
