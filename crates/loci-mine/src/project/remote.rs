//! The repository that the URL of a remote names, whichever way it is reached.

use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::path_text::{key, native};

/// Ports that a URL of that scheme need not name.
const USUAL_PORTS: [(&str, &str); 4] = [
    ("ssh", "22"),
    ("https", "443"),
    ("http", "80"),
    ("git", "9418"),
];
/// Other names of a host, e.g. that for SSH through the port of HTTPS.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("www.github.com", "github.com"),
    ("ssh.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("altssh.bitbucket.org", "bitbucket.org"),
    ("ssh.dev.azure.com", "dev.azure.com"),
];
/// Hosts that tell no names by the case of their letters.
const WITHOUT_CASE: [&str; 5] = [
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "dev.azure.com",
];

/// The repository that a remote names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remote {
    /// On a server: `host/path`, without scheme, user, password and what a URL need not name.
    OnServer(String),
    /// On this machine: the path that the URL names.
    Here(String),
}

impl Remote {
    /// The repository that a URL of git names (see git-clone(1)), from a repository whose work tree
    /// has that top; none if the text is empty.
    pub(super) fn of(url: &str, top: &Path) -> Option<Self> {
        let url = url.trim();
        if url.is_empty() {
            return None;
        }
        if let Some(path) = url.strip_prefix("file://") {
            return Some(Remote::Here(path.to_owned()));
        }
        let (helper, url) = match url.split_once("::") {
            Some((helper, address)) if !helper.contains(['/', ':', '@']) => (helper, address),
            _ => ("", url),
        };
        let server = if let Some((scheme, rest)) = url.split_once("://") {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            on_server(scheme, authority, path)
        } else if let Some((authority, path)) = url.split_once(':')
            && !authority.contains('/')
            && authority.len() > 1
        {
            on_server("ssh", authority, path)
        } else {
            return Some(Remote::Here(key(&top.join(native(Path::new(url))))));
        };
        if helper.is_empty() {
            return Some(Remote::OnServer(server));
        }
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        Some(Remote::OnServer(format!("{helper}::{scheme}://{server}")))
    }
}

fn on_server(scheme: &str, authority: &str, path: &str) -> String {
    // A name or a token may hold `@`, too.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.to_lowercase();
    let (name, port) = host.rsplit_once(':').unwrap_or((&host, ""));
    let scheme = scheme.strip_prefix("git+").unwrap_or(scheme);
    let (mut name, mut port) = (name.trim_end_matches('.'), port);
    if let Some((_, usual)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        (name, port) = (*usual, "");
    }
    if USUAL_PORTS.contains(&(scheme, port)) {
        port = "";
    }
    let is_web = scheme.starts_with("http");
    let (path, query) = path
        .split_once('?')
        .filter(|_| is_web)
        .unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_azure = name == "dev.azure.com";
    let parts = parts
        .into_iter()
        .filter(|part| !is_azure || !["v3", "_git"].contains(part));
    let mut path = parts.collect::<Vec<_>>().join("/");
    path.truncate(path.strip_suffix(".git").unwrap_or(&path).len());
    if WITHOUT_CASE.contains(&name) {
        path = path.to_lowercase();
    }
    let mut server = name.to_owned();
    if !port.is_empty() {
        server = format!("{server}:{port}");
    }
    server = format!("{server}/{path}");
    if !query.is_empty() {
        // It may tell repositories from each other, and may hold a token.
        let hash = HEXLOWER.encode(&Sha256::digest(query));
        server = format!("{server}?{}", &hash[..16]);
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_on_a_server_is_one_however_it_is_reached() {
        for (urls, expected) in [
            (
                &[
                    "https://github.com/Leaf/Tea.git",
                    "https://user:secret@github.com/leaf/tea",
                    "https://x@y:secret@github.com/leaf/tea/",
                    "git@github.com:leaf/tea.git",
                    "github.com:leaf/tea",
                    "ssh://git@ssh.github.com:443/leaf/tea.git",
                    "ssh://git@github.com:22/leaf//tea.git/",
                    "git://github.com:9418/leaf/tea",
                    "git+ssh://git@GitHub.com./leaf/tea",
                ][..],
                "github.com/leaf/tea",
            ),
            (
                &[
                    "https://org@dev.azure.com/org/tea/_git/leaf",
                    "git@ssh.dev.azure.com:v3/org/tea/leaf",
                ],
                "dev.azure.com/org/tea/leaf",
            ),
            (
                &["https://git.example.org/Leaf/tea"],
                "git.example.org/Leaf/tea",
            ),
            (
                &["ssh://git@git.example.org:2222/leaf/tea.git"],
                "git.example.org:2222/leaf/tea",
            ),
            (&["work:leaf/tea.git"], "work/leaf/tea"),
            (
                &["https://git.example.org/C#.git", "git.example.org:C#"],
                "git.example.org/C#",
            ),
            (
                &["codecommit::eu-west-1://bo@tea"],
                "codecommit::eu-west-1://tea/",
            ),
        ] {
            for url in urls {
                let remote = Remote::of(url, Path::new("/tea"));
                assert_eq!(remote, Some(Remote::OnServer(expected.to_owned())), "{url}");
            }
        }
    }

    #[test]
    fn a_token_in_a_url_is_not_kept() {
        let of = |url: &str| format!("{:?}", Remote::of(url, Path::new("/")).unwrap());
        let one = of("https://t0ken@git.example.org/?p=tea.git&t=t0ken");
        assert!(!one.contains("t0ken"), "{one}");
        assert_ne!(one, of("https://git.example.org/?p=leaf.git"));
    }

    #[cfg(unix)]
    #[test]
    fn a_repository_on_this_machine_is_a_path() {
        for (url, expected) in [
            ("/srv/tea.git/", "/srv/tea.git"),
            ("../leaf", "/srv/leaf"),
            ("C:\\src\\tea", "/mnt/c/src/tea"),
            ("c:/src/tea", "/mnt/c/src/tea"),
            ("./a:b", "/srv/tea/a:b"),
        ] {
            let remote = Remote::of(url, Path::new("/srv/tea"));
            assert_eq!(remote, Some(Remote::Here(expected.to_owned())), "{url}");
        }
        assert_eq!(Remote::of(" ", Path::new("/srv")), None);
        assert_eq!(
            Remote::of("file:///srv/tea", Path::new("/")),
            Some(Remote::Here("/srv/tea".to_owned()))
        );
    }
}
