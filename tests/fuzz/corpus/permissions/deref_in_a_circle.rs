struct A;
struct B;

impl std::ops::Deref for A {
    type Target = B;

    fn deref(&self) -> &B {
        &B
    }
}

impl std::ops::Deref for B {
    type Target = A;

    fn deref(&self) -> &A {
        &A
    }
}

fn f(a: A) {
    a.api.get("x");
    a.list(&a.b);
}
