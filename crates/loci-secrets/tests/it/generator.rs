//! Generates texts with and without secrets, the same ones in every run. No file of this repository
//! contains a secret: each test run assembles them from random characters.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

pub const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
pub const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub const DIGITS: &str = "0123456789";
pub const HEX: &str = "0123456789abcdef";
pub const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
pub const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const PASSWORD: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#%*+?";

/// A generator of random numbers from a seed.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6a09_e667_f3bc_c908)
    }

    pub fn number(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    pub fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.number(among.len())]
    }

    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length)
            .map(|_| char::from(alphabet[self.number(alphabet.len())]))
            .collect()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.number(256) as u8).collect()
    }
}

/// A text with a secret: the part to remove, and its possible kinds.
pub struct True {
    pub text: String,
    pub secret: String,
    pub form: String,
}

type Make = fn(&mut Draw) -> String;

/// Secrets that are recognized in any context.
const TOKENS: &[(&str, Make)] = &[
    ("aws-access-key-id", |draw| {
        draw.pick(&["AKIA", "ASIA"]).to_owned() + &draw.text(BASE32, 16)
    }),
    ("google-api-key", |draw| {
        ["AI", "za"].concat() + &draw.text(WORD, 34) + "Q"
    }),
    ("google-oauth-token", |draw| {
        ["ya", "29."].concat() + &draw.text(WORD, 80) + "Q"
    }),
    ("digitalocean-token", |draw| {
        ["dop", "_v1_"].concat() + &draw.text(HEX, 64)
    }),
    ("alibaba-access-key-id", |draw| {
        ["LT", "AI5t"].concat() + &draw.text(ALPHANUMERIC, 20)
    }),
    ("databricks-token", |draw| {
        ["da", "pi"].concat() + &draw.text(HEX, 32)
    }),
    ("planetscale-token", |draw| {
        ["pscale", "_pw_"].concat() + &draw.text(WORD, 42) + "Q"
    }),
    ("azure-client-secret", |draw| {
        draw.text(ALPHANUMERIC, 3) + "8" + &["Q", "~"].concat() + &draw.text(WORD, 33) + "x"
    }),
    ("doppler-token", |draw| {
        ["dp", ".pt."].concat() + &draw.text(ALPHANUMERIC, 43)
    }),
    ("vault-token", |draw| {
        ["hv", "s."].concat() + &draw.text(WORD, 90) + "Q"
    }),
    ("github-token", |draw| {
        draw.pick(&["ghp", "gho", "ghu", "ghs", "ghr"]).to_owned()
            + "_"
            + &draw.text(ALPHANUMERIC, 36)
    }),
    ("github-token", |draw| {
        ["github", "_pat_"].concat()
            + &draw.text(ALPHANUMERIC, 22)
            + "_"
            + &draw.text(ALPHANUMERIC, 59)
    }),
    ("gitlab-token", |draw| {
        draw.pick(&["glpat", "gldt", "glrt"]).to_owned() + "-" + &draw.text(WORD, 19) + "Q"
    }),
    ("bitbucket-token", |draw| {
        ["AT", "BB"].concat() + &draw.text(ALPHANUMERIC, 32)
    }),
    ("npm-token", |draw| {
        ["np", "m_"].concat() + &draw.text(ALPHANUMERIC, 36)
    }),
    ("pypi-token", |draw| {
        ["pypi", "-AgEIcHlwaS5vcmc"].concat() + &draw.text(WORD, 150) + "Q"
    }),
    ("crates-io-token", |draw| {
        ["ci", "o"].concat() + &draw.text(ALPHANUMERIC, 32)
    }),
    ("rubygems-token", |draw| {
        ["ruby", "gems_"].concat() + &draw.text(HEX, 48)
    }),
    ("docker-token", |draw| {
        ["dckr", "_pat_"].concat() + &draw.text(WORD, 26) + "Q"
    }),
    ("openai-key", |draw| {
        ["sk", "-"].concat()
            + &draw.text(ALPHANUMERIC, 20)
            + &["T3Blbk", "FJ"].concat()
            + &draw.text(ALPHANUMERIC, 20)
    }),
    ("openai-key", |draw| {
        ["sk", "-proj-"].concat() + &draw.text(WORD, 155) + "A"
    }),
    ("anthropic-key", |draw| {
        ["sk", "-ant-api03-"].concat() + &draw.text(WORD, 93) + "AA"
    }),
    ("openrouter-key", |draw| {
        ["sk", "-or-v1-"].concat() + &draw.text(HEX, 64)
    }),
    ("hugging-face-token", |draw| {
        ["h", "f_"].concat() + &draw.text(ALPHANUMERIC, 34)
    }),
    ("groq-key", |draw| {
        ["gs", "k_"].concat() + &draw.text(ALPHANUMERIC, 52)
    }),
    ("replicate-token", |draw| {
        ["r", "8_"].concat() + &draw.text(ALPHANUMERIC, 37)
    }),
    ("perplexity-key", |draw| {
        ["pp", "lx-"].concat() + &draw.text(ALPHANUMERIC, 48)
    }),
    ("xai-key", |draw| {
        ["xa", "i-"].concat() + &draw.text(ALPHANUMERIC, 80)
    }),
    ("slack-token", |draw| {
        ["xox", "b-"].concat()
            + &draw.text("0123456789", 12)
            + "-"
            + &draw.text("0123456789", 13)
            + "-"
            + &draw.text(ALPHANUMERIC, 24)
    }),
    ("slack-webhook", |draw| {
        ["https://hooks", ".slack.com/services/"].concat()
            + "T"
            + &draw.text(UPPER, 10)
            + "/B"
            + &draw.text(UPPER, 10)
            + "/"
            + &draw.text(ALPHANUMERIC, 24)
    }),
    ("discord-webhook", |draw| {
        ["https://discord", ".com/api/webhooks/"].concat()
            + &draw.text("0123456789", 18)
            + "/"
            + &draw.text(WORD, 67)
            + "Q"
    }),
    ("discord-token", |draw| {
        let user: String = "1".to_owned() + &draw.text("0123456789", 17);
        URL_SAFE_NO_PAD.encode(user) + "." + &draw.text(WORD, 6) + "." + &draw.text(WORD, 37) + "Q"
    }),
    ("telegram-bot-token", |draw| {
        "7".to_owned()
            + &draw.text("0123456789", 9)
            + &[":", "AA"].concat()
            + &draw.text(WORD, 32)
            + "Q"
    }),
    ("stripe-key", |draw| {
        draw.pick(&["sk", "rk"]).to_owned() + "_live_" + &draw.text(ALPHANUMERIC, 24)
    }),
    ("stripe-key", |draw| {
        ["wh", "sec_"].concat() + &draw.text(ALPHANUMERIC, 32)
    }),
    ("twilio-key", |draw| {
        ["S", "K"].concat() + &draw.text(HEX, 32)
    }),
    ("sendgrid-key", |draw| {
        ["S", "G."].concat() + &draw.text(WORD, 22) + "." + &draw.text(WORD, 42) + "Q"
    }),
    ("mailgun-key", |draw| {
        ["ke", "y-"].concat() + &draw.text(HEX, 32)
    }),
    ("mailchimp-key", |draw| {
        draw.text(HEX, 32) + "-us1" + &draw.text("0123456789", 1)
    }),
    ("shopify-token", |draw| {
        ["shp", "at_"].concat() + &draw.text(HEX, 32)
    }),
    ("square-token", |draw| {
        ["sq0", "atp-"].concat() + &draw.text(WORD, 21) + "Q"
    }),
    ("linear-key", |draw| {
        ["lin", "_api_"].concat() + &draw.text(ALPHANUMERIC, 40)
    }),
    ("notion-token", |draw| {
        ["nt", "n_"].concat() + &draw.text(ALPHANUMERIC, 46)
    }),
    ("sentry-token", |draw| {
        ["snt", "ryu_"].concat() + &draw.text(HEX, 64)
    }),
    ("new-relic-key", |draw| {
        ["NR", "AK-"].concat() + &draw.text(UPPER, 27)
    }),
    ("grafana-token", |draw| {
        ["gl", "sa_"].concat() + &draw.text(ALPHANUMERIC, 32) + "_" + &draw.text(HEX, 8)
    }),
    ("terraform-token", |draw| {
        draw.text(ALPHANUMERIC, 14) + &[".atlas", "v1."].concat() + &draw.text(WORD, 66) + "Q"
    }),
    ("age-secret-key", |draw| {
        ["AGE-SECRET", "-KEY-1"].concat() + &draw.text(UPPER, 58)
    }),
    ("jwt", |draw| {
        let header = format!(
            "{{\"alg\":\"{}\",\"typ\":\"JWT\"}}",
            draw.pick(&["HS256", "RS256", "ES256", "EdDSA"])
        );
        let claims = format!(
            "{{\"sub\":\"{}\",\"iat\":17{}}}",
            draw.text(HEX, 12),
            draw.text("0123456789", 8)
        );
        let signature = URL_SAFE_NO_PAD.encode(draw.bytes(32));
        [
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(claims),
            signature,
        ]
        .join(".")
    }),
];

/// Values that are recognized by the name of their assignment.
const ASSIGNED: &[(&str, &[&str], Make)] = &[
    (
        "aws-secret-key",
        &["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"],
        |draw| draw.text(BASE64, 39) + "7",
    ),
    (
        "azure-storage-key",
        &["AccountKey", "storageAccountKey"],
        |draw| STANDARD.encode(draw.bytes(64)),
    ),
    (
        "api-key",
        &[
            "api_key",
            "API_KEY",
            "apiKey",
            "MAPS_API_KEY",
            "x-api-key",
            "datadog_api_key",
        ],
        |draw| draw.text(HEX, 32),
    ),
    (
        "api-key",
        &[
            "encryption_key",
            "signingKey",
            "MASTER_KEY",
            "SECRET_KEY_BASE",
        ],
        |draw| draw.text(ALPHANUMERIC, 40),
    ),
    (
        "secret",
        &[
            "client_secret",
            "clientSecret",
            "OAUTH_SECRET",
            "webhook-secret",
            "app_secret",
        ],
        |draw| draw.text(ALPHANUMERIC, 32),
    ),
    (
        "token",
        &[
            "access_token",
            "authToken",
            "BOT_TOKEN",
            "deploy_token",
            "token",
            "refreshToken",
        ],
        |draw| draw.text(WORD, 42) + "Q",
    ),
    (
        "credential",
        &["credential", "service_credentials"],
        |draw| draw.text(ALPHANUMERIC, 36),
    ),
    (
        "password",
        &[
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "passwd",
            "PGPASSWORD",
            "smtp_password",
            "MYSQL_PWD",
        ],
        |draw| draw.text(PASSWORD, 13) + "7k",
    ),
    (
        "password",
        &["password", "admin_password", "REDIS_PASS"],
        |draw| {
            let word = draw.pick(&["Winter", "Dragon", "monkey", "Berlin", "coffee", "Sunshine"]);
            word.to_owned() + &draw.text("23456789", 4) + draw.pick(&["!", "", "#", "?"])
        },
    ),
];

/// Forms of assignments in code, settings and prose; `§` is the name, `@` the value. The first row
/// is for development, the second one is held out.
const ASSIGNMENTS: [&[&str]; 2] = [
    &[
        "§=@\n",
        "export §=@\nPORT=8080\n",
        "§: @\nregion: eu-west-1\n",
        "{\"host\": \"db\", \"§\": \"@\", \"port\": 5432}",
        "const § = \"@\";\n",
        "§ = '@'\n",
        "    § = \"@\"  # set by deploy\n",
        "[default]\n§ = @\noutput = json\n",
    ],
    &[
        "ENV §=@\nRUN make\n",
        "docker run -e §=@ -p 80:80 app:latest\n",
        "{\\\"§\\\": \\\"@\\\", \\\"retries\\\": 3}",
        "let §: &str = \"@\";\n",
        "  :§ => \"@\",\n",
        "settings[\"§\"] = \"@\"\n",
        "set(\"§\", \"@\")\n",
        "<§>@</§>\n",
        "§ := \"@\"\n",
        "I set `§` to no avail; in the end §=@ worked.\n",
        "2026-01-07T09:14:11Z INFO started with §=@ region=eu\n",
    ],
];

/// Texts around a token that is recognized in any context.
const SURROUNDINGS: [&[&str]; 2] = [
    &[
        "@",
        "TOKEN=@\n",
        "my token is @, keep it\n",
        "{\"value\": \"@\"}",
        "curl -H 'X-Token: @' https://api.host.test/v1\n",
        "value: @\n",
        "foo(\"@\")\n",
        "see @.\n",
    ],
    &[
        "<value>@</value>",
        "2026-01-07 ERROR request failed token=@ status=401\n",
        "Here you go:\n\n```\n@\n```\n",
        "\"line one\\n@\\nline three\"",
        "https://api.host.test/v1?k=@&page=2\n",
        "- name: deploy\n  args: [--with, @]\n",
        "$ tool login @\nok\n",
        "| name | value |\n|---|---|\n| prod | @ |\n",
        "authToken=%20@\n",
        "(@)",
        "`@`",
    ],
];

const PROSE: &[&str] = &[
    "We moved the service to the new cluster on Friday, and nothing broke.\n",
    "# Deployment\n\nRun `make deploy` and wait for the health check.\n\n",
    "fn main() {\n    let port = 8080;\n    serve(port);\n}\n\n",
    "import os\nimport sys\n\n\ndef run(args):\n    return len(args)\n\n",
    "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n",
    "User: why does it fail?\nAssistant: the port is taken, choose another one.\n",
    "[package]\nname = \"tool\"\nversion = \"1.4.2\"\n\n",
    "",
];

/// Returns a text with a secret. Even numbers are for development, odd ones are held out.
pub fn with_secret(number: usize) -> True {
    let draw = &mut Draw::new(number as u64);
    let half = number % 2;
    let kinds = TOKENS.len() + ASSIGNED.len() * 2 + 7;
    let kind = (number / 2) % kinds;
    let (form, secret, core) = if let Some((form, make)) = TOKENS.get(kind) {
        let secret = make(draw);
        let core = draw.pick(SURROUNDINGS[half]).replace('@', &secret);
        ((*form).to_owned(), secret, core)
    } else if let Some((form, names, make)) = ASSIGNED
        .get((kind - TOKENS.len()) % ASSIGNED.len())
        .filter(|_| kind < kinds - 7)
    {
        let (secret, name) = (make(draw), draw.pick(names));
        let core = draw
            .pick(ASSIGNMENTS[half])
            .replace('§', name)
            .replace('@', &secret);
        ((*form).to_owned(), secret, core)
    } else {
        structured(draw, half, kind + 7 - kinds)
    };
    let text = format!("{}{core}\n{}", draw.pick(PROSE), draw.pick(PROSE));
    True { text, secret, form }
}

/// Returns a secret with its own form: the kind, the secret, and a text with it.
fn structured(draw: &mut Draw, half: usize, which: usize) -> (String, String, String) {
    let pick = |draw: &mut Draw, rows: [&[&'static str]; 2]| draw.pick(rows[half]).to_owned();
    let (form, secret, frame) = match which {
        0 => {
            let label = pick(draw, [&["", "RSA "], &["EC ", "OPENSSH ", "ENCRYPTED "]]);
            let ending = pick(draw, [&["\n"], &["\\n", "\r\n"]]);
            let body: Vec<String> = (0..4).map(|_| draw.text(BASE64, 64)).collect();
            let secret = body[1].clone();
            let dashes = "-----";
            let begin = format!("{dashes}BEGIN {label}PRIVATE KEY{dashes}");
            let end = format!("{dashes}END {label}PRIVATE KEY{dashes}");
            return (
                "private-key".to_owned(),
                secret,
                format!("{begin}{ending}{}{ending}{end}\n", body.join(&ending)),
            );
        }
        1 => {
            let scheme = pick(
                draw,
                [
                    &["postgres", "mysql", "mongodb+srv"],
                    &["redis", "amqps", "postgresql+asyncpg", "https"],
                ],
            );
            let frame = pick(
                draw,
                [
                    &["DATABASE_URL=S\n", "\"S\""],
                    &["connect(\"S\")", "  url: S\n", "$ psql S\n"],
                ],
            );
            let user = draw.pick(&["app", "admin", "svc-reader", ""]);
            let frame = frame.replace('S', &format!("{scheme}://{user}:@@db.host.test:5432/app"));
            (
                "url",
                draw.text(ALPHANUMERIC, 14),
                frame.replacen("@@", "@\u{1}", 1),
            )
        }
        2 => {
            let frames: [&[&'static str]; 2] = [
                &[
                    "Authorization: Bearer @\n",
                    "curl -H 'Authorization: Bearer @' https://host.test/\n",
                ],
                &[
                    "headers = {\"Authorization\": \"Bearer @\"}",
                    "authorization: bearer @\r\n",
                    "set(\"Authorization\", `Bearer @`)",
                ],
            ];
            (
                "bearer-token",
                draw.text(WORD, 39) + "Q",
                pick(draw, frames),
            )
        }
        3 => {
            let secret = STANDARD.encode(format!(
                "{}:{}",
                draw.pick(&["admin", "ci"]),
                draw.text(ALPHANUMERIC, 14)
            ));
            (
                "basic-credentials",
                secret,
                pick(
                    draw,
                    [
                        &["Authorization: Basic @\n"],
                        &["{\"Authorization\": \"Basic @\"}"],
                    ],
                ),
            )
        }
        4 => {
            let frames: [&[&'static str]; 2] = [
                &["machine host.test\n  login ann\n  password @\n"],
                &[
                    "machine host.test login ann password @\n",
                    "default\nlogin ann\npassword @\n",
                ],
            ];
            (
                "netrc",
                draw.text(ALPHANUMERIC, 13) + "7",
                pick(draw, frames),
            )
        }
        5 => {
            let frames: [&[&'static str]; 2] = [
                &[
                    "Server=db;User Id=sa;Password=@;Encrypt=true\n",
                    "curl -u ann:@ https://host.test/\n",
                ],
                &[
                    "https://host.test/in?user=ann&password=@&next=1",
                    "mysqldump --user ann --password @ app\n",
                    "curl --user 'ann:@' https://host.test/x\n",
                ],
            ];
            (
                "password",
                draw.text(ALPHANUMERIC, 12) + "7k",
                pick(draw, frames),
            )
        }
        _ => {
            let secret = draw
                .text(BASE64, 43)
                .replace('+', "%2B")
                .replace('/', "%2F")
                + "%3D";
            let frames: [&[&'static str]; 2] = [
                &["https://a.blob.core.windows.net/c?sv=2024-01-01&se=2026-01-01&sig=@\n"],
                &[
                    "{\"url\": \"https://a.blob.core.windows.net/c/b.zip?sp=r&sig=@&sv=2024-01-01\"}",
                ],
            ];
            ("azure-signature", secret, pick(draw, frames))
        }
    };
    let core = frame.replacen('@', &secret, 1).replace('\u{1}', "@");
    (form.to_owned(), secret, core)
}

type Innocent = fn(&mut Draw) -> String;

fn grouped(text: &str, size: usize, separator: &str) -> String {
    let bytes = text.as_bytes();
    bytes
        .chunks(size)
        .map(|chunk| String::from_utf8_lossy(chunk).into_owned())
        .collect::<Vec<_>>()
        .join(separator)
}

fn uuid(draw: &mut Draw) -> String {
    [8, 4, 4, 4, 12]
        .map(|length| draw.text(HEX, length))
        .join("-")
}

/// Texts that look like secrets but contain none, those for development first.
const INNOCENT: [&[(&str, Innocent)]; 2] = [
    &[
        ("git hash", |draw| {
            format!(
                "commit {}\nAuthor: Ann <ann@host.test>\n",
                draw.text(HEX, 40)
            )
        }),
        ("sha-256", |draw| {
            format!("{}  archive.tar.gz\n", draw.text(HEX, 64))
        }),
        ("uuid", |draw| {
            format!(
                "{{\"id\": \"{}\", \"parent\": \"{}\"}}",
                uuid(draw),
                uuid(draw)
            )
        }),
        ("ulid", |draw| {
            format!(
                "id: 01H{}\n",
                draw.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23)
            )
        }),
        ("image", |draw| {
            format!(
                "<img src=\"data:image/png;base64,iVBORw0KGgo{}=\">",
                draw.text(BASE64, 400)
            )
        }),
        ("npm integrity", |draw| {
            format!("\"integrity\": \"sha512-{}==\",", draw.text(BASE64, 86))
        }),
        ("cargo checksum", |draw| {
            format!("checksum = \"{}\"\n", draw.text(HEX, 64))
        }),
        ("ssh public key", |draw| {
            format!(
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ann@laptop\n",
                draw.text(BASE64, 43)
            )
        }),
        ("certificate", |draw| {
            let dashes = "-----";
            let body = grouped(&("MIID".to_owned() + &draw.text(BASE64, 252)), 64, "\n");
            format!("{dashes}BEGIN CERTIFICATE{dashes}\n{body}\n{dashes}END CERTIFICATE{dashes}\n")
        }),
        ("fingerprint", |draw| {
            format!(
                "256 SHA256:{} ann@laptop (ED25519)\n",
                draw.text(BASE64, 43)
            )
        }),
        ("placeholder", |draw| {
            let value = draw.pick(&[
                "YOUR_API_KEY",
                "xxxxxxxxxxxxxxxxxxxxxxxx",
                "<token>",
                "sk-...",
                "changeme",
                "${API_KEY}",
                "********",
            ]);
            format!(
                "{}={value}\n",
                draw.pick(&["API_KEY", "OPENAI_API_KEY", "PASSWORD", "TOKEN"])
            )
        }),
        ("reference", |draw| {
            draw.pick(&[
                "const key = process.env.STRIPE_SECRET_KEY;\n",
                "password: ${{ secrets.DB_PASSWORD }}\n",
                "token = os.environ[\"GITHUB_TOKEN\"]\n",
                "api_key = settings.openai_api_key\n",
                "password = getpass.getpass()\n",
                "let token = self.next_token()?;\n",
            ])
            .to_owned()
        }),
        ("format", |draw| {
            draw.pick(&[
                "GitHub tokens begin with `ghp_` and have 40 characters.\n",
                "An AWS key id looks like AKIAIOSFODNN7EXAMPLE.\n",
                "Keys of OpenAI start with sk- and keys of Anthropic with sk-ant-.\n",
                "postgres://user:password@localhost/db\n",
                "Send `Authorization: Bearer <token>` with each request.\n",
            ])
            .to_owned()
        }),
        ("parameter", |draw| {
            draw.pick(&[
                "def login(user, password=None):\n    pass\n",
                "def read(self, name, pwd=None):\n",
                "if (self.password == password):\n",
                "x(password=password):\n",
                "if(pwd==NULL){\n",
                "if (pass==null||x) {\n",
                "password: string|null,\n",
                "def f(password: bytes):\n",
                "RegEnumKey = winreg.EnumKey\n",
                "nid_key = self._lib.NID_pbe_WithSHA1And3_Key_TripleDES_CBC\n",
            ])
            .to_owned()
        }),
        ("test log", |draw| {
            format!(
                "--- PASS: TestHTTP{}Server (0.0{}s)\n",
                draw.number(9),
                draw.number(9)
            )
        }),
        ("name with a number", |draw| {
            let number = 1 + draw.number(9);
            draw.pick(&[
                "password = new_password#\n",
                "const pass = render_pass#;\n",
                "forward_pass = layer#+layer#\n",
            ])
            .replace('#', &number.to_string())
        }),
        ("cache of a build", |draw| {
            format!(
                "key: Linux-node-key-{}\ncache: key-{}\n",
                draw.text(HEX, 32),
                draw.text(HEX, 32)
            )
        }),
        ("key id", |draw| {
            let id = draw.text("0123456789ABCDEF", 16);
            format!(
                "signing_key: {id}\nsigningkey = {}\nkeyToken: {}\n",
                draw.text("0123456789ABCDEF", 40),
                draw.text(HEX, 16)
            )
        }),
        ("css", |draw| {
            format!(
                ".a{{color:#{};background:#{}}}\n",
                draw.text(HEX, 6),
                draw.text(HEX, 8)
            )
        }),
        ("number", |draw| {
            format!(
                "total_tokens: {}\nmax_tokens={}\nphone: +49 30 {}\n",
                draw.text("123456789", 9),
                draw.text("123456789", 5),
                draw.text("123456789", 7)
            )
        }),
        ("minified", |draw| {
            format!(
                "!function(e,t){{var n=e.key,r=t.token;return n.{}?r:{{key:\"{}\",token:n}}}}(a,b);",
                draw.text(LOWER, 4),
                draw.text(LOWER, 5)
            )
        }),
        ("identifier", |draw| {
            format!(
                "fn get_user_access_token_from_session_store_v{}() {{}}\n",
                draw.text("123456789", 2)
            )
        }),
        ("url", |draw| {
            format!(
                "https://host.test/items/{}/edit?page=2&sort=name#part-{}\n",
                draw.text(HEX, 24),
                draw.text(LOWER, 4)
            )
        }),
        ("trace", |draw| {
            format!(
                "    at com.host.app.TokenStore.load(TokenStore.java:{})\n    at 0x{}\n",
                draw.text("123456789", 3),
                draw.text(HEX, 16)
            )
        }),
    ],
    &[
        ("git log", |draw| {
            format!(
                "{} Fix the token refresh\n{} Add password reset\n",
                draw.text(HEX, 7),
                draw.text(HEX, 40)
            )
        }),
        ("docker digest", |draw| {
            format!("FROM rust@sha256:{}\n", draw.text(HEX, 64))
        }),
        ("etag", |draw| {
            format!(
                "ETag: \"{}\"\nX-Request-Id: {}\n",
                draw.text(HEX, 32),
                uuid(draw)
            )
        }),
        ("go.sum", |draw| {
            format!(
                "golang.org/x/crypto v0.31.0 h1:{}=\n",
                draw.text(BASE64, 43)
            )
        }),
        ("yarn.lock", |draw| {
            format!(
                "  resolved \"https://registry.host.test/a.tgz#{}\"\n  integrity sha512-{}==\n",
                draw.text(HEX, 40),
                draw.text(BASE64, 86)
            )
        }),
        ("font", |draw| {
            format!(
                "src:url(data:font/woff2;base64,d09GMgABAAAA{}) format(\"woff2\")",
                draw.text(BASE64, 600)
            )
        }),
        ("pip hash", |draw| {
            format!(
                "requests==2.32.3 \\\n    --hash=sha256:{}\n",
                draw.text(HEX, 64)
            )
        }),
        ("known host", |draw| {
            format!(
                "host.test ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{}\n",
                draw.text(BASE64, 300)
            )
        }),
        ("public key block", |draw| {
            let dashes = "-----";
            let body = grouped(
                &("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".to_owned() + &draw.text(BASE64, 352)),
                64,
                "\\n",
            );
            format!(
                "\"{dashes}BEGIN PUBLIC KEY{dashes}\\n{body}\\n{dashes}END PUBLIC KEY{dashes}\""
            )
        }),
        ("cache key", |draw| {
            format!(
                "cache_key: \"{}\"\nsort_key={}\n",
                draw.text(HEX, 32),
                draw.text(LOWER, 20)
            )
        }),
        ("placeholder in code", |draw| {
            let value = draw.pick(&[
                "your-token-here",
                "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
                "<your password>",
                "{{ vault_token }}",
                "INSERT_KEY_HERE",
                "abc123",
            ]);
            format!(
                "client = Client({}=\"{value}\")\n",
                draw.pick(&["api_key", "token", "password", "client_secret"])
            )
        }),
        ("reference in deployment", |draw| {
            draw.pick(&[
                "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef: {name: db, key: password}\n",
                "variable \"db_password\" { type = string }\n",
                "password_file: /run/secrets/db_password\n",
                "ARG NPM_TOKEN\nRUN echo $NPM_TOKEN > .npmrc\n",
                "spring.datasource.password=${DB_PASSWORD:}\n",
                "assert response.token == expected_token2\n",
                "#define KEY_LENGTH 256\n",
                "TOKEN_PATTERN = re.compile(r\"ghp_[A-Za-z0-9]{36}\")\n",
                "password: Optional[str] = None\n",
                "<input type=\"password\" name=\"password\" placeholder=\"Password\">\n",
            ])
            .to_owned()
        }),
        ("template", |draw| {
            draw.pick(&[
                "wifi_password: !secret wifi_pw\n",
                "Password: !GetAtt Secret2.Value\n",
                "password: str|None,\n",
                "{login:a,password:b}=this.state;e={pass:!0,fail:!1}\n",
                "\"password\": \"Contraseña*\",\n",
                "PASSWORD: \"Passwort!\",\n",
                "'user[:passwd]', 'host[:port]'\n",
                "bool isOpen(char *pwd) { return(pwd==stored_pwd2); }\n",
                "fw_downloadCompletedCallback(x);\n",
                "image: xapp-some-docker-image-name-1.0\n",
            ])
            .to_owned()
        }),
        ("go test", |draw| {
            format!(
                "=== RUN TestA\n--- PASS: TestA{}b/with_case_{} (1.2s)\n",
                draw.number(99),
                draw.number(99)
            )
        }),
        ("row", |draw| {
            format!(
                "{{\"primaryKey\": \"{}\", \"s3_key\": \"{}\"}}",
                draw.text(HEX, 32),
                draw.text(HEX, 40)
            )
        }),
        ("host key", |draw| {
            format!("ssh_host_key = \"SHA256:{}\"\n", draw.text(BASE64, 43))
        }),
        ("object id", |draw| {
            format!(
                "ObjectId(\"{}\") order #{}\n",
                draw.text(HEX, 24),
                draw.text("123456789", 12)
            )
        }),
        ("model tokens", |draw| {
            format!(
                "{{\"usage\": {{\"prompt_tokens\": {}, \"completion_tokens\": {}}}}}",
                draw.text("123456789", 4),
                draw.text("123456789", 3)
            )
        }),
        ("storage path", |draw| {
            format!(
                "s3://bucket/backups/2026-01-0{}/{}.tar.zst\n",
                1 + draw.number(9),
                uuid(draw)
            )
        }),
        ("trace id", |draw| {
            format!(
                "traceparent: 00-{}-{}-01\n",
                draw.text(HEX, 32),
                draw.text(HEX, 16)
            )
        }),
        ("test id", |draw| {
            format!(
                "data-testid=\"password-input-{}\" id=\"api-key-field-{}\"",
                draw.text("123456789", 3),
                draw.text(LOWER, 6)
            )
        }),
        ("mangled symbol", |draw| {
            format!(
                "_ZN4core3fmt9Formatter9write_str17h{}E\n",
                draw.text(HEX, 16)
            )
        }),
        ("svg", |draw| {
            let mut path = String::new();
            for _ in 0..20 {
                path += &format!(
                    "M{}.{} {}l",
                    draw.number(99),
                    draw.number(999),
                    draw.number(99)
                );
            }
            format!("<path d=\"{path}\" key=\"path-{}\"/>", draw.number(99))
        }),
    ],
];

/// Returns a text without a secret. Even numbers are for development, odd ones are held out.
pub fn without_secret(number: usize) -> (String, &'static str) {
    let draw = &mut Draw::new(1 << 32 | number as u64);
    let rows = INNOCENT[number % 2];
    let (form, make) = rows[(number / 2) % rows.len()];
    let core = make(draw);
    (
        format!("{}{core}\n{}", draw.pick(PROSE), draw.pick(PROSE)),
        form,
    )
}
