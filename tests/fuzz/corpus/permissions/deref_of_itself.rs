struct S {
    a: u8,
}

impl std::ops::Deref for S {
    type Target = S;

    fn deref(&self) -> &S {
        self
    }
}

fn f(s: S) {
    s.api.get("x");
    s.list(&s.b);
}
