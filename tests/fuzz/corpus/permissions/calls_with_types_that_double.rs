use kube::{Api, Client};

fn f0<T: Clone>(c: Client, t: T) {
    f1(c.clone(), (t.clone(), t.clone()));
    f1(c, t)
}

fn f1<T: Clone>(c: Client, t: T) {
    f2(c.clone(), (t.clone(), t.clone()));
    f2(c, t)
}

fn f2<T: Clone>(c: Client, t: T) {
    f3(c.clone(), (t.clone(), t.clone()));
    f3(c, t)
}

fn f3<T: Clone>(c: Client, t: T) {
    f4(c.clone(), (t.clone(), t.clone()));
    f4(c, t)
}

fn f4<T: Clone>(c: Client, t: T) {
    f5(c.clone(), (t.clone(), t.clone()));
    f5(c, t)
}

fn f5<T: Clone>(c: Client, t: T) {
    f6(c.clone(), (t.clone(), t.clone()));
    f6(c, t)
}

fn f6<T: Clone>(c: Client, t: T) {
    f7(c.clone(), (t.clone(), t.clone()));
    f7(c, t)
}

fn f7<T: Clone>(c: Client, t: T) {
    f8(c.clone(), (t.clone(), t.clone()));
    f8(c, t)
}

fn f8<T: Clone>(c: Client, t: T) {
    f9(c.clone(), (t.clone(), t.clone()));
    f9(c, t)
}

fn f9<T: Clone>(c: Client, t: T) {
    f10(c.clone(), (t.clone(), t.clone()));
    f10(c, t)
}

fn f10<T: Clone>(c: Client, t: T) {
    f11(c.clone(), (t.clone(), t.clone()));
    f11(c, t)
}

fn f11<T: Clone>(c: Client, t: T) {
    f12(c.clone(), (t.clone(), t.clone()));
    f12(c, t)
}

fn f12<T: Clone>(c: Client, t: T) {
    f13(c.clone(), (t.clone(), t.clone()));
    f13(c, t)
}

fn f13<T: Clone>(c: Client, t: T) {
    f14(c.clone(), (t.clone(), t.clone()));
    f14(c, t)
}

fn f14<T: Clone>(c: Client, t: T) {
    f15(c.clone(), (t.clone(), t.clone()));
    f15(c, t)
}

fn f15<T: Clone>(c: Client, t: T) {
    f16(c.clone(), (t.clone(), t.clone()));
    f16(c, t)
}

fn f16<T: Clone>(c: Client, t: T) {
    f17(c.clone(), (t.clone(), t.clone()));
    f17(c, t)
}

fn f17<T: Clone>(c: Client, t: T) {
    f18(c.clone(), (t.clone(), t.clone()));
    f18(c, t)
}

fn f18<T: Clone>(c: Client, t: T) {
    f19(c.clone(), (t.clone(), t.clone()));
    f19(c, t)
}

fn f19<T: Clone>(c: Client, t: T) {
    f20(c.clone(), (t.clone(), t.clone()));
    f20(c, t)
}

fn f20<T: Clone>(c: Client, t: T) {
    f21(c.clone(), (t.clone(), t.clone()));
    f21(c, t)
}

fn f21<T: Clone>(c: Client, t: T) {
    f22(c.clone(), (t.clone(), t.clone()));
    f22(c, t)
}

fn f22<T: Clone>(c: Client, t: T) {
    f23(c.clone(), (t.clone(), t.clone()));
    f23(c, t)
}

fn f23<T: Clone>(c: Client, t: T) {
    f24(c.clone(), (t.clone(), t.clone()));
    f24(c, t)
}

fn f24<T: Clone>(c: Client, t: T) {
    f25(c.clone(), (t.clone(), t.clone()));
    f25(c, t)
}

fn f25<T: Clone>(c: Client, t: T) {
    f26(c.clone(), (t.clone(), t.clone()));
    f26(c, t)
}

fn f26<T: Clone>(c: Client, t: T) {
    f27(c.clone(), (t.clone(), t.clone()));
    f27(c, t)
}

fn f27<T: Clone>(c: Client, t: T) {
    f28(c.clone(), (t.clone(), t.clone()));
    f28(c, t)
}

fn f28<T: Clone>(c: Client, t: T) {
    f29(c.clone(), (t.clone(), t.clone()));
    f29(c, t)
}

fn f29<T: Clone>(c: Client, t: T) {
    f30(c.clone(), (t.clone(), t.clone()));
    f30(c, t)
}

fn f30<T>(c: Client, t: T) {
    let api: Api<k8s_openapi::api::core::v1::Pod> = Api::all(c);
    api.list(&t);
}

fn main(c: Client) {
    f0(c, 1)
}
