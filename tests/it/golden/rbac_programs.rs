//! Random programs with one request each: `rbac derive` finds the request or says that it could not follow it.
//!
//! A program starts with an `Api`, which goes through expressions, functions, macros and types that return it. The request on
//! it stands inside of further expressions, some of which a `cfg` switches off. `RBAC_PROGRAMS` sets the number of programs,
//! and `RBAC_SEED` the first seed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use memcached_sdk::rbac::RbacTarget;

use super::rbac_derive::derived;
use crate::random::Random;

/// `@E` is the expression inside, `@K` the kind, `@N` a number that names the items of this step.
struct Step {
    /// Stands beside the functions.
    items: &'static str,
    text: &'static str,
    /// `@E` must not wait, because it is in a closure or function that is not async.
    sync: bool,
}

const fn plain(text: &'static str) -> Step {
    Step { items: "", text, sync: false }
}

const fn sync(text: &'static str) -> Step {
    Step { items: "", text, sync: true }
}

const fn with(items: &'static str, text: &'static str) -> Step {
    Step { items, text, sync: false }
}

/// Makes an `Api` of `client`.
const SOURCES: &[Step] = &[
    plain("Api::<@K>::namespaced(client.clone(), \"x\")"),
    plain("Api::<@K>::all(client.clone())"),
    plain("Api::<@K>::default_namespaced(client.clone())"),
    plain("{ let api: Api<@K> = Api::all(client.clone()); api }"),
    plain("<Api<@K>>::all(client.clone())"),
    plain("Some(client.clone()).map(Api::<@K>::all).unwrap()"),
    plain("{ let make: fn(Client) -> Api<@K> = Api::all; make(client.clone()) }"),
    with("fn api_@N<T: Named>(client: Client) -> Api<T> { Api::all(client) }", "api_@N::<@K>(client.clone())"),
    with(
        "macro_rules! api_@N { ($kind:ty, $client:expr) => { Api::<$kind>::all($client) } }",
        "api_@N!(@K, client.clone())",
    ),
    with("type Apis@N = Api<@K>;", "Apis@N::all(client.clone())"),
    with("type Kind@N = @K;", "Api::<Kind@N>::all(client.clone())"),
    with(
        "trait Make@N { type Kind: Named; fn make(client: Client) -> Api<Self::Kind> { Api::all(client) } }\n\
         struct Made@N;\nimpl Make@N for Made@N { type Kind = @K; }",
        "Made@N::make(client.clone())",
    ),
    with(
        "trait Of@N<T: Named> { fn of(&self) -> Api<T>; }\n\
         impl Of@N<@K> for Client { fn of(&self) -> Api<@K> { Api::all(self.clone()) } }",
        "client.of()",
    ),
];

/// Returns the `Api` that it is given.
const STEPS: &[Step] = &[
    plain("{ let api = @E; api }"),
    plain("(@E)"),
    plain("(&@E).clone()"),
    plain("(*&@E).clone()"),
    plain("unsafe { @E }"),
    plain("if flag() { @E } else { panic!() }"),
    plain("if flag() { unreachable!() } else { @E }"),
    plain("match Some(@E) { Some(api) => api, None => unreachable!() }"),
    plain("match 1 { 1 if flag() => @E, _ => panic!() }"),
    plain("{ let Some(api) = Some(@E) else { panic!() }; api }"),
    plain("{ let api; api = @E; api }"),
    plain("{ let mut api = None; if flag() { api = Some(@E); } api.unwrap() }"),
    plain("loop { break @E; }"),
    plain("'a: { break 'a @E; }"),
    plain("{ let mut one = Some(@E); loop { if let Some(api) = one.take() { break api; } } }"),
    plain(
        "{ let mut one = Some(@E); let mut found = None; while let Some(api) = one.take() { found = Some(api); } found.unwrap() }",
    ),
    plain("{ let mut found = None; for api in [@E] { found = Some(api); } found.unwrap() }"),
    plain("if let Some(api) = Some(@E) { api } else { panic!() }"),
    plain("if let Some(api) = Some(@E) && flag() { api } else { panic!() }"),
    sync("(|| @E)()"),
    sync("(|client: Client| @E)(client.clone())"),
    sync("{ let make = || @E; make() }"),
    sync("{ let make: Box<dyn Fn() -> Api<@K>> = Box::new(|| @E); make() }"),
    plain("async { @E }.await"),
    plain("Box::pin(async { @E }).await"),
    plain("(async || @E)().await"),
    sync("(|| async { @E })().await"),
    plain("(1, @E).1"),
    plain("{ let (_, api) = (1, @E); api }"),
    plain("{ let (.., api) = (1, 2, @E); api }"),
    plain("{ let [api] = [@E]; api }"),
    plain("{ let all @ [_] = [@E]; let [api] = all; api }"),
    plain("{ let ((api, _) | (_, api)) = (@E, @E); api }"),
    plain("[@E].into_iter().next().unwrap()"),
    plain("[@E][0].clone()"),
    plain("vec![@E].remove(0)"),
    plain("vec![@E].into_iter().map(|api| api).last().unwrap()"),
    plain("vec![@E].iter().cloned().filter(|_| flag()).next().unwrap()"),
    plain("vec![(1, @E)].into_iter().map(|(_, api)| api).next().unwrap()"),
    plain("vec![@E].into_iter().enumerate().map(|(_, api)| api).next().unwrap()"),
    plain("vec![@E].into_iter().zip([1]).next().unwrap().0"),
    plain("vec![@E].into_iter().chain([]).rev().next().unwrap()"),
    plain("vec![@E].into_iter().fold(None, |_, api| Some(api)).unwrap()"),
    plain("vec![vec![@E]].into_iter().flatten().next().unwrap()"),
    plain("vec![@E].into_iter().flat_map(|api| [api]).next().unwrap()"),
    plain("vec![@E].into_iter().collect::<Vec<_>>().pop().unwrap()"),
    plain("vec![@E].first().unwrap().clone()"),
    plain("std::iter::once(@E).next().unwrap()"),
    plain("std::collections::BTreeMap::from([(1, @E)]).remove(&1).unwrap()"),
    plain("{ let mut all = std::collections::BTreeMap::new(); all.insert(1, @E); all[&1].clone() }"),
    plain("{ let mut all = Vec::new(); all.push(@E); all.pop().unwrap() }"),
    plain("Some(@E).map(|api| api).unwrap()"),
    plain("Some(@E).ok_or(()).unwrap()"),
    plain("Some(@E).into_iter().next().unwrap()"),
    plain("None.or(Some(@E)).unwrap()"),
    plain("Some(@E).and_then(|api| Some(api)).unwrap()"),
    plain("Ok::<_, ()>(@E).unwrap()"),
    plain("Ok::<_, ()>(@E).map_err(|()| 1).unwrap()"),
    plain("Some(@E).as_ref().unwrap().clone()"),
    sync("Some(()).map(|()| @E).unwrap()"),
    sync("Some(()).and_then(|()| Some(@E)).unwrap()"),
    sync("None.unwrap_or_else(|| @E)"),
    sync("flag().then(|| @E).unwrap()"),
    plain("flag().then_some(@E).unwrap()"),
    sync("(|| Some(Some(@E)?))().unwrap()"),
    plain("async { Ok::<_, ()>(Ok::<_, ()>(@E)?) }.await.unwrap()"),
    plain("std::convert::identity(@E)"),
    plain("std::sync::Arc::new(@E).as_ref().clone()"),
    plain("(*Box::new(@E)).clone()"),
    plain("std::sync::Mutex::new(@E).into_inner().unwrap()"),
    plain("std::cell::RefCell::new(@E).borrow().clone()"),
    plain("dbg!(@E)"),
    plain("{ async fn inner(client: Client) -> Api<@K> { @E } inner(client.clone()).await }"),
    plain("{ macro_rules! inner { ($inner:expr) => { $inner } } inner!(@E) }"),
    plain("{ #[cfg(all())] let api = @E; #[cfg(any())] let api = Api::<Secret>::all(client.clone()); api }"),
    plain("if cfg!(any()) { panic!() } else { @E }"),
    with("macro_rules! same_@N { ($inner:expr) => { $inner } }", "same_@N!(@E)"),
    with("macro_rules! block_@N { ($($inner:tt)*) => { { $($inner)* } } }", "block_@N!(let api = @E; api)"),
    with(
        "macro_rules! let_@N { ($name:ident = $inner:expr) => { let $name = $inner; } }",
        "{ let_@N!(api = @E); api }",
    ),
    with("fn same_@N<T>(given: T) -> T { given }", "same_@N(@E)"),
    with("fn same_@N(given: Api<@K>) -> Api<@K> { given }", "same_@N(@E)"),
    with("fn same_@N<T: Named>(given: &Api<T>) -> Api<T> { return given.clone(); }", "same_@N(&@E)"),
    with("fn some_@N<T>(given: T) -> Option<T> { Some(given) }", "some_@N(@E).unwrap()"),
    with("fn same_@N(given: impl Into<Api<@K>>) -> Api<@K> { given.into() }", "same_@N(@E)"),
    with("fn call_@N<T>(make: impl FnOnce(T) -> T, given: T) -> T { make(given) }", "call_@N(|api| api, @E)"),
    with("async fn api_@N(client: Client) -> Api<@K> { @E }", "api_@N(client.clone()).await"),
    with("async fn api_@N(client: &Client) -> Result<Api<@K>, ()> { Ok(@E) }", "api_@N(&client).await.unwrap()"),
    with("struct Fields@N { api: Api<@K> }", "Fields@N { api: @E }.api"),
    with("struct Fields@N { api: Api<@K> }", "{ let Fields@N { api } = Fields@N { api: @E }; api }"),
    with(
        "struct Fields@N { api: Api<@K>, other: u8 }",
        "{ let api = @E; Fields@N { api, ..Fields@N { api: @E, other: 1 } }.api }",
    ),
    with("struct Fields@N<T> { api: T }", "Fields@N { api: @E }.api"),
    with("struct Fields@N<T>(u8, T);", "Fields@N(1, @E).1"),
    with("struct Fields@N<T>(u8, T);", "{ let Fields@N(.., api) = Fields@N(1, @E); api }"),
    with(
        "struct Fields@N { api: Option<Api<@K>> }",
        "{ let mut all = Fields@N { api: None }; all.api = Some(@E); all.api.unwrap() }",
    ),
    with(
        "enum Cases@N { One(Api<@K>), Other }",
        "match Cases@N::One(@E) { Cases@N::One(api) => api, Cases@N::Other => panic!() }",
    ),
    with(
        "enum Cases@N<T> { One { api: T }, Other }",
        "match (Cases@N::One { api: @E }) { Cases@N::One { api } => api, Cases@N::Other => panic!() }",
    ),
    with(
        "struct Methods@N { client: Client }\nimpl Methods@N { async fn api(&self) -> Api<@K> { let client = self.client.clone(); @E } }",
        "Methods@N { client: client.clone() }.api().await",
    ),
    with(
        "struct Chain@N<T>(T);\nimpl<T> Chain@N<T> { fn new(inner: T) -> Self { Self(inner) } fn same(self) -> Self { self } fn end(self) -> T { self.0 } }",
        "Chain@N::new(@E).same().end()",
    ),
    with(
        "struct Made@N { api: Api<@K> }\nimpl From<Api<@K>> for Made@N { fn from(api: Api<@K>) -> Self { Self { api } } }",
        "Made@N::from(@E).api",
    ),
    with(
        "struct Made@N { api: Api<@K> }\nimpl From<Api<@K>> for Made@N { fn from(api: Api<@K>) -> Self { Self { api } } }",
        "{ let made: Made@N = @E.into(); made.api }",
    ),
    with(
        "trait Held@N { fn held(&self) -> Api<@K>; }\nstruct Holds@N(Api<@K>);\nimpl Held@N for Holds@N { fn held(&self) -> Api<@K> { self.0.clone() } }",
        "(&Holds@N(@E) as &dyn Held@N).held()",
    ),
    with(
        "trait Held@N { fn held(&self) -> Api<@K>; }\nimpl Held@N for Api<@K> { fn held(&self) -> Api<@K> { self.clone() } }\nfn held_@N(inner: impl Held@N) -> Api<@K> { inner.held() }",
        "held_@N(@E)",
    ),
    with(
        "trait Held@N<T> { fn held(&self) -> Api<T>; }\nimpl<T: Named> Held@N<T> for Api<T> { fn held(&self) -> Api<T> { self.clone() } }\nfn held_@N<T, S: Held@N<T>>(inner: S) -> Api<T> { inner.held() }",
        "held_@N(@E)",
    ),
    with(
        "trait Held@N<T> { fn held(&self) -> Api<T>; }\nimpl Held@N<@K> for Api<@K> { fn held(&self) -> Api<@K> { self.clone() } }\nfn held_@N(inner: Box<dyn Held@N<@K>>) -> Api<@K> { inner.held() }",
        "held_@N(Box::new(@E))",
    ),
    with(
        "trait Held@N { type Kind; fn held(&self) -> Api<Self::Kind>; }\nimpl<T: Named> Held@N for Api<T> { type Kind = T; fn held(&self) -> Api<T> { self.clone() } }\nfn held_@N<S: Held@N>(inner: S) -> Api<S::Kind> { inner.held() }",
        "held_@N(@E)",
    ),
    with("trait Ext@N: Sized { fn same(self) -> Self { self } }\nimpl<T> Ext@N for T {}", "@E.same()"),
    with(
        "struct Left@N;\nimpl std::ops::Add<Api<@K>> for Left@N { type Output = Api<@K>; fn add(self, api: Api<@K>) -> Api<@K> { api } }",
        "(Left@N + @E)",
    ),
    with(
        "struct Left@N;\nimpl<T> std::ops::Shl<Api<T>> for Left@N { type Output = Api<T>; fn shl(self, api: Api<T>) -> Self::Output { api } }",
        "(Left@N << @E)",
    ),
    with(
        "struct Holds@N(Api<@K>);\nimpl std::ops::Not for Holds@N { type Output = Api<@K>; fn not(self) -> Self::Output { self.0 } }",
        "(!Holds@N(@E))",
    ),
    with(
        "struct Holds@N<T>(T);\nimpl<T> std::ops::Deref for Holds@N<T> { type Target = T; fn deref(&self) -> &T { &self.0 } }",
        "(*Holds@N(@E)).clone()",
    ),
    with(
        "struct Holds@N(Api<@K>);\nimpl std::ops::Index<u8> for Holds@N { type Output = Api<@K>; fn index(&self, _: u8) -> &Self::Output { &self.0 } }",
        "Holds@N(@E)[1].clone()",
    ),
    with(
        "struct Iter@N(Option<Api<@K>>);\nimpl Iterator for Iter@N { type Item = Api<@K>; fn next(&mut self) -> Option<Self::Item> { self.0.take() } }",
        "Iter@N(Some(@E)).next().unwrap()",
    ),
    with(
        "struct Iter@N(Option<Api<@K>>);\nimpl Iterator for Iter@N { type Item = Api<@K>; fn next(&mut self) -> Option<Self::Item> { self.0.take() } }",
        "{ let mut found = None; for api in Iter@N(Some(@E)) { found = Some(api); } found.unwrap() }",
    ),
    with("mod inside_@N { pub fn same<T>(given: T) -> T { given } }", "inside_@N::same(@E)"),
    with("mod inside_@N { pub fn same<T>(given: T) -> T { given } }", "{ use inside_@N::same as other; other(@E) }"),
];

/// Stands around a request of the type `Result<_, kube::Error>`.
const REQUESTS: &[Step] = &[
    plain("{ @E }"),
    plain("(@E)"),
    plain("{ let found = @E; found }"),
    plain("{ let found: Result<_, kube::Error> = @E; found }"),
    plain("if flag() { @E } else { panic!() }"),
    plain("match @E { Ok(found) => Ok::<_, kube::Error>(found), Err(error) => Err(error) }"),
    plain("match 1 { 1 => @E, _ => panic!() }"),
    plain("loop { break @E; }"),
    plain("'a: { break 'a @E; }"),
    plain("async { @E }.await"),
    plain("async { Ok::<_, kube::Error>(@E?) }.await"),
    plain("async { let Ok(found) = (@E) else { panic!() }; Ok::<_, kube::Error>(found) }.await"),
    plain("Box::pin(async { @E }).await"),
    plain("{ let client = client.clone(); tokio::spawn(async move { @E }).await.unwrap() }"),
    plain("tokio::join!(async { @E }, async {}).0"),
    plain("tokio::select! { found = async { @E } => found }"),
    plain("tokio::time::timeout(std::time::Duration::ZERO, async { @E }).await.unwrap()"),
    plain("(async || @E)().await"),
    plain("(|| async { @E })().await"),
    plain("(@E, 1).0"),
    plain("[@E].into_iter().next().unwrap()"),
    plain("vec![@E].remove(0)"),
    plain("@E.map(|found| found)"),
    plain("unsafe { @E }"),
    plain("{ let mut found = None; for _ in 0..1 { found = Some(@E); } found.unwrap() }"),
    plain("{ let mut found = None; while found.is_none() { found = Some(@E); } found.unwrap() }"),
    plain("{ macro_rules! inner { ($inner:expr) => { $inner } } inner!(@E) }"),
    plain("{ async fn inner(client: Client) { let _ = @E; } inner(client.clone()).await; Ok::<(), kube::Error>(()) }"),
    plain("{ assert!(@E.is_ok()); Ok::<(), kube::Error>(()) }"),
    plain("{ println!(\"{}\", @E.is_ok()); Ok::<(), kube::Error>(()) }"),
    plain("{ if flag() && @E.is_ok() {} Ok::<(), kube::Error>(()) }"),
    plain("{ if let Ok(_) = @E && flag() {} Ok::<(), kube::Error>(()) }"),
    plain("{ match 1 { _ if @E.is_ok() => {} _ => {} } Ok::<(), kube::Error>(()) }"),
    plain("{ while !@E.is_ok() {} Ok::<(), kube::Error>(()) }"),
    plain("{ for _ in 0..usize::from(@E.is_ok()) {} Ok::<(), kube::Error>(()) }"),
    plain("{ let _ = [0, 1][usize::from(@E.is_ok())]; Ok::<(), kube::Error>(()) }"),
    plain("{ let _ = 1 + @E.is_ok() as u8; Ok::<(), kube::Error>(()) }"),
    plain("{ let _ = [@E.is_ok(); 2]; Ok::<(), kube::Error>(()) }"),
    plain("{ let mut sum = false; sum |= @E.is_ok(); let _ = sum; Ok::<(), kube::Error>(()) }"),
    plain("{ let Some(_) = None::<u8> else { let _ = @E; panic!() }; Ok::<(), kube::Error>(()) }"),
    plain("{ drop(@E); Ok::<(), kube::Error>(()) }"),
    plain("{ #[cfg(all())] let found = @E; found }"),
    plain("if cfg!(all()) { @E } else { Api::<Secret>::all(client.clone()).get(\"a\").await.map(|_| panic!()) }"),
    plain("{ #[cfg(any())] { let _ = Api::<Secret>::all(client.clone()).get(\"a\").await; } @E }"),
    with("macro_rules! same_@N { ($inner:expr) => { $inner } }", "same_@N!(@E)"),
    with("macro_rules! block_@N { ($($inner:tt)*) => { { $($inner)* } } }", "block_@N!(let found = @E; found)"),
    with("fn same_@N<T>(given: T) -> T { given }", "same_@N(@E)"),
    with(
        "async fn run_@N(client: Client) { let _ = @E; }",
        "{ run_@N(client.clone()).await; Ok::<(), kube::Error>(()) }",
    ),
    with("async fn wait_@N<T>(future: impl Future<Output = T>) -> T { future.await }", "wait_@N(async { @E }).await"),
    with(
        "async fn call_@N<T, F: Future<Output = T>>(make: impl FnOnce(Client) -> F, client: Client) -> T { make(client).await }",
        "call_@N(|client| async move { @E }, client.clone()).await",
    ),
    with("struct Fields@N<T> { found: T }", "Fields@N { found: @E }.found"),
    with(
        "trait Runs@N { async fn run(&self, client: Client) { let _ = @E; } }\nstruct Runner@N;\nimpl Runs@N for Runner@N {}",
        "{ Runner@N.run(client.clone()).await; Ok::<(), kube::Error>(()) }",
    ),
    with(
        "trait Runs@N { async fn run(&self, client: Client); }\nstruct Runner@N<T>(T);\nimpl<T> Runs@N for Runner@N<T> { async fn run(&self, client: Client) { let _ = @E; } }\nasync fn run_@N(runs: impl Runs@N, client: Client) { runs.run(client).await }",
        "{ run_@N(Runner@N(1), client.clone()).await; Ok::<(), kube::Error>(()) }",
    ),
    with(
        "struct Sum@N(Client);\nimpl std::ops::Add<u8> for Sum@N { type Output = std::pin::Pin<Box<dyn Future<Output = ()>>>; fn add(self, _: u8) -> Self::Output { let client = self.0; Box::pin(async move { let _ = @E; }) } }",
        "{ (Sum@N(client.clone()) + 1).await; Ok::<(), kube::Error>(()) }",
    ),
    with(
        "struct Drops@N(Client);\nimpl Drop for Drops@N { fn drop(&mut self) { let client = self.0.clone(); tokio::spawn(async move { let _ = @E; }); } }",
        "{ drop(Drops@N(client.clone())); Ok::<(), kube::Error>(()) }",
    ),
];

/// Stands around a request that no build makes.
const OFF: &[Step] = &[
    plain("{ #[cfg(any())] { let _ = @E; } Ok::<(), kube::Error>(()) }"),
    plain("{ #[cfg(any())] let _ = @E; Ok::<(), kube::Error>(()) }"),
    plain("{ if cfg!(any()) { let _ = @E; } Ok::<(), kube::Error>(()) }"),
    plain("{ if cfg!(any()) && @E.is_ok() {} Ok::<(), kube::Error>(()) }"),
    plain("{ if !cfg!(all()) { let _ = @E; } Ok::<(), kube::Error>(()) }"),
    plain("{ match cfg!(any()) { true => { let _ = @E; } false => {} } Ok::<(), kube::Error>(()) }"),
    plain("{ while cfg!(any()) { let _ = @E; } Ok::<(), kube::Error>(()) }"),
    plain("{ match 1 { #[cfg(any())] 1 => { let _ = @E; } _ => {} } Ok::<(), kube::Error>(()) }"),
    plain("{ drop((#[cfg(any())] @E, 1)); Ok::<(), kube::Error>(()) }"),
    plain("{ #[cfg(any())] async fn inner(client: Client) { let _ = @E; } Ok::<(), kube::Error>(()) }"),
    with("#[cfg(any())]\nasync fn off_@N(client: Client) { let _ = @E; }", "Ok::<(), kube::Error>(())"),
    with(
        "#[cfg(any())]\nmod off_@N { use super::*; async fn off(client: Client) { let _ = @E; } }",
        "Ok::<(), kube::Error>(())",
    ),
];

/// The verb and the call.
const VERBS: &[(&str, &str)] = &[
    ("get", "get(\"a\")"),
    ("get", "get_opt(\"a\")"),
    ("get", "get_metadata(\"a\")"),
    ("list", "list(&Default::default())"),
    ("delete", "delete(\"a\", &Default::default())"),
    ("deletecollection", "delete_collection(&Default::default(), &Default::default())"),
];

/// Kinds that requests are about; `Secret` is that of the code that is switched off.
const KINDS: &[(&str, &str)] =
    &[("ConfigMap", "configmaps"), ("Pod", "pods"), ("Service", "services"), ("Endpoints", "endpoints")];

const HEAD: &str = "\
use std::future::Future;

use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Pod, Secret, Service};
use kube::{Api, Client};

trait Named: kube::Resource<DynamicType = ()> + Clone + k8s_openapi::serde::de::DeserializeOwned + std::fmt::Debug {}
impl<T: kube::Resource<DynamicType = ()> + Clone + k8s_openapi::serde::de::DeserializeOwned + std::fmt::Debug> Named for T {}

fn flag() -> bool { std::env::args().count() > 1 }

#[tokio::main]
async fn main() { let client = Client::try_default().await.unwrap(); let _ = run(client).await; }
";

struct Program {
    text: String,
    /// `None`: it is switched off.
    request: Option<(&'static str, &'static str)>,
}

struct Drawn {
    random: Random,
    items: String,
    count: usize,
}

impl Drawn {
    /// Puts an expression into a step.
    fn wrap(&mut self, step: &Step, inner: &str, kind: &str) -> String {
        self.count += 1;
        let number = self.count.to_string();
        let fill = |text: &str| text.replace("@E", inner).replace("@K", kind).replace("@N", &number);
        if !step.items.is_empty() {
            writeln!(self.items, "{}", fill(step.items)).unwrap();
        }
        fill(step.text)
    }

    fn step(&mut self, steps: &'static [Step], inner: &str) -> &'static Step {
        loop {
            let step = &steps[self.random.below(steps.len())];
            if !step.sync || !inner.contains(".await") {
                return step;
            }
        }
    }
}

/// The program of a seed: `first` chooses a step, so that every step comes early.
fn program(seed: u64, first: Option<&'static Step>) -> Program {
    let mut drawn = Drawn { random: Random(seed), items: String::new(), count: 0 };
    let (kind, plural) = drawn.random.pick(KINDS);
    let (verb, call) = drawn.random.pick(VERBS);
    let is = |list: &[Step]| first.filter(|first| list.iter().any(|step| std::ptr::eq(step, *first)));
    let (source, step, request, off) = (is(SOURCES), is(STEPS), is(REQUESTS), is(OFF));
    let source = source.unwrap_or_else(|| drawn.step(SOURCES, ""));
    let mut text = drawn.wrap(source, "", kind);
    for position in 0..drawn.random.below(3_usize) + usize::from(step.is_some()) {
        let step = step.filter(|_| position == 0).unwrap_or_else(|| drawn.step(STEPS, &text));
        text = drawn.wrap(step, &text, kind);
    }
    text = format!("{text}.{call}.await");
    // A function of its own is not switched off by the code that calls it.
    let inner = |step: &Step| !step.items.contains("@E");
    let is_off = off.is_some() || (request.is_none_or(inner) && drawn.random.percent(10));
    for position in 0..drawn.random.below(3_usize) + usize::from(request.is_some()) {
        let step = match request.filter(|_| position == 0) {
            Some(step) => step,
            None => loop {
                let step = drawn.step(REQUESTS, "");
                if !is_off || inner(step) {
                    break step;
                }
            },
        };
        text = drawn.wrap(step, &text, kind);
    }
    if is_off {
        let step = off.unwrap_or_else(|| drawn.step(OFF, ""));
        text = drawn.wrap(step, &text, kind);
    }
    let text = format!("{HEAD}\n{}\nasync fn run(client: Client) {{\n    let _ = {text};\n}}\n", drawn.items);
    Program { text, request: (!is_off).then_some((verb, plural)) }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Found,
    Said,
}

/// Compares the derived requests with that of the program.
fn judge(program: &Program) -> Result<Verdict, String> {
    syn::parse_file(&program.text).map_err(|error| format!("not valid Rust: {error}"))?;
    let (usages, diagnostics) = derived(&program.text);
    let mut found = BTreeSet::new();
    for usage in &usages {
        let RbacTarget::Resource { resource, .. } = &usage.permission.target else { continue };
        found.insert((usage.permission.verb.as_str(), resource.as_str()));
    }
    let wanted: BTreeSet<_> = program.request.into_iter().collect();
    let doubts: String = diagnostics.iter().map(|found| format!("{}\n", found.message)).collect();
    if let Some(more) = found.difference(&wanted).next() {
        return Err(format!("finds {more:?}, which the program does not request\n{doubts}"));
    }
    if found == wanted {
        return Ok(Verdict::Found);
    }
    if doubts.is_empty() { Err(format!("does not find {wanted:?} and says nothing")) } else { Ok(Verdict::Said) }
}

#[test]
fn requests_of_random_programs_are_found_or_said() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (first, count) = (number("RBAC_SEED").unwrap_or(1), number("RBAC_PROGRAMS").unwrap_or(300));
    let all = || SOURCES.iter().chain(STEPS).chain(REQUESTS).chain(OFF).map(Some).chain(std::iter::repeat(None));
    let mut failures = Vec::new();
    let mut said = Vec::new();
    for (seed, step) in (first..first + count).zip(all()) {
        let program = program(seed, step);
        match judge(&program) {
            Ok(Verdict::Found) => {}
            Ok(Verdict::Said) => said.push(seed),
            Err(message) => failures.push(format!("seed {seed}: {message}\n{}", program.text)),
        }
    }
    println!("{} of {count} requests are only said: seeds {said:?}", said.len());
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    assert!(said.len() * 10 < usize::try_from(count).unwrap(), "too many requests are only said: seeds {said:?}");
}
