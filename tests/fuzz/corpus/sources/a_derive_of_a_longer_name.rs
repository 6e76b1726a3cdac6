pub use self::x as y;
#[derive(modCustomResource)]
struct S;
