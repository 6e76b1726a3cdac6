//! The token of a `tokenFile` or a service account. kube rejects a trailing newline, client-go trims it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::header::{AUTHORIZATION, HeaderValue};
use kube::Config;
use kube::client::{AuthError, Body};
use tokio::time::Instant;
use tower::BoxError;

/// Time until a token file is read again. A rotated token stays valid longer than that.
const READ_AGAIN: Duration = Duration::from_secs(50);

#[derive(Clone)]
pub(super) struct TokenFile {
    path: PathBuf,
    last: Arc<Mutex<(HeaderValue, Instant)>>,
}

impl TokenFile {
    /// Takes the token file from `config`, unless kube prefers another authentication method.
    pub(super) fn take(config: &mut Config) -> kube::Result<Option<Self>> {
        let auth = &mut config.auth_info;
        let basic = auth.username.is_some() && auth.password.is_some();
        if basic || auth.token.is_some() || auth.auth_provider.is_some() {
            return Ok(None);
        }
        let Some(path) = auth.token_file.take() else {
            return Ok(None);
        };
        // A token file has precedence over a plugin, too.
        auth.exec = None;
        let path = PathBuf::from(path);
        let header = match read(&path) {
            Ok(header) => header.map_err(|error| kube::Error::HttpError(error.into()))?,
            Err(error) => return Err(kube::Error::Auth(AuthError::ReadTokenFile(error, path))),
        };
        let last = Arc::new(Mutex::new((header, Instant::now())));
        Ok(Some(Self { path, last }))
    }

    pub(super) fn authorize(&self, mut request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.1.elapsed() >= READ_AGAIN {
            match read(&self.path) {
                Ok(Ok(header)) => *last = (header, Instant::now()),
                Ok(Err(error)) => self.keeps(&error),
                Err(error) => self.keeps(&error),
            }
        }
        request.headers_mut().insert(AUTHORIZATION, last.0.clone());
        Ok(request)
    }

    /// Logs the error. The last token may still be valid.
    fn keeps(&self, error: &dyn std::error::Error) {
        let file = self.path.display();
        tracing::warn!(%file, %error, "cannot read the token, using the last one");
    }
}

fn read(path: &PathBuf) -> std::io::Result<Result<HeaderValue, hyper::header::InvalidHeaderValue>> {
    let token = std::fs::read_to_string(path)?;
    let header = HeaderValue::try_from(format!("Bearer {}", token.trim()));
    Ok(header.map(|mut header| {
        header.set_sensitive(true);
        header
    }))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::connections::Connections;
    use crate::client::plain;
    use crate::election::gate::Gate;

    /// A server that answers with the `Authorization` header of the request.
    async fn mirror() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut buffer = vec![0; 8192];
                    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                        let mut lines = text.lines();
                        let sent = lines.find_map(|line| line.strip_prefix("authorization: "));
                        let sent = sent.unwrap_or("nothing");
                        let length = sent.len();
                        let answer =
                            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{sent}");
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        format!("http://{address}")
    }

    #[tokio::test]
    async fn the_token_is_that_of_the_file_without_the_space_around_it() {
        let file = std::env::temp_dir().join(format!("token-{}", std::process::id()));
        std::fs::write(&file, "first\n").unwrap();
        let mut config = Config::new(mirror().await.parse().unwrap());
        config.auth_info.token_file = Some(file.display().to_string());
        let connections = Connections::behind(Arc::new(Gate::open()));
        let client = plain(config.clone(), &connections).unwrap();
        let ask = async || {
            let request = Request::get("/").body(Vec::new()).unwrap();
            client.request_text(request).await.unwrap()
        };
        assert_eq!(ask().await, "Bearer first");
        std::fs::write(&file, "second\r\n").unwrap();
        assert_eq!(ask().await, "Bearer first", "not read again yet");
        for (content, header) in [
            (Some("second\r\n"), "Bearer second"),
            (Some("third"), "Bearer third"),
            (None, "Bearer third"),
        ] {
            match content {
                Some(content) => std::fs::write(&file, content).unwrap(),
                None => std::fs::remove_file(&file).unwrap(),
            }
            tokio::time::pause();
            tokio::time::advance(READ_AGAIN).await;
            tokio::time::resume();
            assert_eq!(ask().await, header);
        }
        let error = plain(config, &connections).err().unwrap().to_string();
        assert!(error.contains("token"), "{error}");
    }
}
