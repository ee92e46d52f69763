//! A table of secrets with a known prefix.

/// The bytes of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// Letters and digits.
    Alphanumeric,
    /// Upper-case letters and digits.
    Upper,
    /// Lower-case letters and digits.
    Lower,
    /// Hexadecimal digits in either case.
    Hex,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `_`, `-`, `+`, `/` and `=`.
    Base64,
}

impl Alphabet {
    /// Returns true if it contains the byte.
    pub fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            Alphabet::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Alphabet::Lower => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Alphabet::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=')
            }
        }
    }
}

/// A secret with a known prefix.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Its name in the mark that replaces it.
    pub kind: &'static str,
    /// The prefix.
    pub prefix: &'static str,
    /// The bytes after that.
    pub alphabet: Alphabet,
    /// Their minimum number.
    pub min: usize,
    /// Their maximum number.
    pub max: usize,
}

impl Form {
    /// Returns true if names of functions, caches and images have the same prefix, so that the rest
    /// must look random.
    pub fn is_common(&self) -> bool {
        ["fw_", "hf_", "api_org_", "key-", "xapp-", "secret_"].contains(&self.prefix)
    }
}

const ANY: usize = usize::MAX;

macro_rules! forms {
    ($($kind:literal: $($prefix:literal)+, $alphabet:ident, $min:expr, $max:expr;)+) => {
        /// All secrets with a known prefix.
        pub static FORMS: &[Form] = &[
            $($(Form { kind: $kind, prefix: $prefix, alphabet: Alphabet::$alphabet, min: $min, max: $max },)+)+
        ];
    };
}

forms! {
    // Clouds and databases.
    "aws-access-key-id": "AKIA" "ASIA" "ABIA" "ACCA", Upper, 16, 16;
    "google-api-key": "AIza", Word, 35, 35;
    "google-oauth-token": "ya29.", Dotted, 20, ANY;
    "google-oauth-token": "GOCSPX-", Word, 28, 28;
    "digitalocean-token": "dop_v1_" "doo_v1_" "dor_v1_", Hex, 64, 64;
    "alibaba-access-key-id": "LTAI", Alphanumeric, 12, 26;
    "heroku-key": "HRKU-", Word, 36, 64;
    "fly-token": "fo1_", Word, 40, 48;
    "fly-token": "fm1r_" "fm1a_" "fm2_", Base64, 60, ANY;
    "databricks-token": "dapi", Hex, 32, 32;
    "planetscale-token": "pscale_tkn_" "pscale_pw_" "pscale_oauth_", Dotted, 32, 64;
    "supabase-token": "sbp_", Hex, 40, 40;
    "supabase-token": "sb_secret_", Word, 20, 64;
    "netlify-token": "nfp_", Alphanumeric, 36, 64;
    "pulumi-token": "pul-", Hex, 40, 40;
    "doppler-token": "dp.pt." "dp.st." "dp.ct." "dp.sa." "dp.scim." "dp.audit.", Dotted, 40, 80;
    "vault-token": "hvs." "hvb." "hvr.", Word, 24, ANY;
    "tailscale-key": "tskey-", Word, 24, 80;
    // Hosts of code and packages.
    "github-token": "ghp_" "gho_" "ghu_" "ghs_" "ghr_", Alphanumeric, 36, 255;
    "github-token": "github_pat_", Word, 60, 255;
    "gitlab-token": "glpat-" "gldt-" "glrt-" "glcbt-" "glptt-" "glft-" "glimt-" "glagent-" "gloas-" "glsoat-", Dotted, 20, 255;
    "bitbucket-token": "ATBB", Alphanumeric, 28, 40;
    "atlassian-token": "ATATT3" "ATCTT3", Base64, 100, ANY;
    "npm-token": "npm_", Alphanumeric, 36, 36;
    "pypi-token": "pypi-AgE", Word, 50, ANY;
    "crates-io-token": "cio", Alphanumeric, 32, 32;
    "rubygems-token": "rubygems_", Hex, 48, 48;
    "nuget-key": "oy2", Lower, 43, 43;
    "docker-token": "dckr_pat_" "dckr_oat_", Word, 27, 40;
    "artifactory-token": "AKCp", Alphanumeric, 60, 80;
    "postman-key": "PMAK-", Word, 59, 59;
    // Model providers.
    "openai-key": "sk-proj-" "sk-svcacct-" "sk-admin-" "sk-None-", Word, 40, 255;
    "openai-key": "sk-", Alphanumeric, 32, 64;
    "anthropic-key": "sk-ant-", Word, 32, 255;
    "openrouter-key": "sk-or-v1-", Hex, 64, 64;
    "hugging-face-token": "hf_", Alphanumeric, 30, 40;
    "hugging-face-token": "api_org_", Alphanumeric, 30, 40;
    "groq-key": "gsk_", Alphanumeric, 40, 60;
    "replicate-token": "r8_", Alphanumeric, 37, 40;
    "perplexity-key": "pplx-", Alphanumeric, 40, 64;
    "xai-key": "xai-", Alphanumeric, 60, 90;
    "fireworks-key": "fw_", Alphanumeric, 22, 32;
    "cerebras-key": "csk-", Lower, 40, 60;
    "nvidia-key": "nvapi-", Word, 60, 80;
    "tavily-key": "tvly-", Word, 28, 64;
    "langsmith-key": "lsv2_pt_" "lsv2_sk_", Word, 40, 60;
    "elevenlabs-key": "sk_", Hex, 48, 48;
    // Chat, mail and payment.
    "slack-token": "xoxb-" "xoxp-" "xoxa-" "xoxo-" "xoxs-" "xoxr-" "xoxe-" "xoxe." "xoxc-" "xoxd-" "xapp-", Dotted, 20, 300;
    "stripe-key": "sk_live_" "sk_test_" "rk_live_" "rk_test_", Alphanumeric, 20, 247;
    "stripe-key": "whsec_", Base64, 32, 64;
    "twilio-key": "SK", Hex, 32, 32;
    "sendgrid-key": "SG.", Dotted, 60, 72;
    "mailgun-key": "key-", Hex, 32, 32;
    "shopify-token": "shpat_" "shpca_" "shppa_" "shpss_", Hex, 32, 32;
    "square-token": "EAAA", Word, 60, 60;
    "square-token": "sq0atp-", Word, 22, 22;
    "square-token": "sq0csp-", Word, 43, 43;
    // Tools that teams use.
    "linear-key": "lin_api_" "lin_oauth_", Alphanumeric, 40, 64;
    "notion-token": "secret_", Alphanumeric, 43, 43;
    "notion-token": "ntn_", Alphanumeric, 40, 60;
    "sentry-token": "sntrys_" "sntryu_", Base64, 40, 300;
    "new-relic-key": "NRAK-" "NRII-" "NRJS-" "NRSP-", Word, 19, 40;
    "grafana-token": "glsa_", Word, 41, 41;
    "grafana-token": "glc_", Base64, 32, 400;
    "figma-token": "figd_", Word, 40, 60;
    "age-secret-key": "AGE-SECRET-KEY-1", Upper, 58, 58;
}
