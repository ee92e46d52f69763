//! A table of secrets with a known prefix.

use std::ops::Range;

use crate::alphabet::{Alphabet, is_boundary};
use crate::random;
use crate::{JUDGED_MAX, SecretMatch, work};

/// Bytes of a secret that are read for its recognition.
const REACH_MAX: usize = 4096;
/// Bytes of a secret in which placeholders are looked for.
const WORDS_MAX: usize = 48;
/// Bytes before a secret that are used as its context.
const NEAR_MAX: usize = 64;

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
        COMMON.contains(&self.prefix)
    }
}

/// Prefixes that names of functions, caches and images have too.
const COMMON: &[&str] = &[
    "fw_",
    "hf_",
    "api_org_",
    "key-",
    "xapp-",
    "secret_",
    "re_",
    "pa-",
    "fc-",
    "m0-",
    "sm_",
    "z_",
    "rnd_",
    "napi_",
    "BSA",
    "jina_",
    "tfp_",
    "sl.",
    "y0_",
    "ak-",
    "as-",
    "ck_",
    "cs_",
    "aio_",
    "p8e-",
    "app-",
    "dataset-",
    "slk_",
    "fio-u-",
    "K10",
    "fal_",
    "e2b_",
    "llx-",
    "dsp_",
    "cu_",
    "pnu_",
    "pnb_",
    "ico-",
    "tk-us-",
    "st.",
    "mat_",
    "mct_",
    "mcr_",
    "API-",
    "dose",
    "dkea",
    "AQVN",
    "DO00",
    "AKID",
    "v1.0-",
    "A3-",
    "nk-",
    "pat.",
    "sat.",
    "dG9rOj",
    "secret-",
    "secret-live-",
    "secret-test-",
];

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
    "aws-bedrock-key": "ABSKQmVkcm9ja0FQSUtleS" "bedrock-api-key-", Base64, 40, ANY;
    "google-api-key": "AQ.Ab8", Word, 30, 120;
    "google-oauth-token": "1//0", Word, 60, 160;
    "digitalocean-space-key": "DO00", Alphanumeric, 16, 16;
    "databricks-token": "dose" "dkea", Hex, 32, 32;
    "netlify-token": "nfc_" "nfo_" "nfb_" "nfu_", Alphanumeric, 36, 64;
    "vercel-token": "vcp_" "vck_" "vci_" "vca_" "vcr_", Alphanumeric, 24, 80;
    "render-key": "rnd_", Alphanumeric, 28, 40;
    "neon-key": "napi_", Alphanumeric, 60, 70;
    "cockroach-key": "CCDB1_", Word, 40, 80;
    "mongodb-atlas-secret": "mdb_sa_sk_", Word, 30, 80;
    "scalingo-token": "tk-us-", Word, 48, 48;
    "yandex-key": "AQVN", Word, 35, 38;
    "yandex-token": "y0_", Word, 50, 70;
    "dynatrace-token": "dt0c01." "dt0s01.", Dotted, 80, 100;
    "openshift-token": "sha256~", Word, 43, 43;
    "kubernetes-join-token": "SWMTKN-1-", Word, 70, 90;
    "kubernetes-join-token": "K10", Alphanumeric, 64, 64;
    "onepassword-token": "ops_eyJ", Base64, 60, ANY;
    "infisical-token": "st.", Dotted, 60, 100;
    "prefect-key": "pnu_" "pnb_", Alphanumeric, 36, 36;
    "tencent-secret-id": "AKID", Alphanumeric, 32, 32;
    "baidu-key": "bce-v3/ALTAK-", Base64, 40, 90;
    "cloudflare-token": "cfut_" "cfat_" "cfk_", Alphanumeric, 40, 60;
    "cloudflare-key": "v1.0-", Word, 100, 200;
    "onepassword-key": "A3-", Word, 34, 40;
    "launchdarkly-key": "sdk-", Word, 36, 36;
    "harness-token": "pat." "sat.", Dotted, 66, 70;
    // Hosts of code and packages.
    "gitlab-token": "glffct-" "glwt-" "glsoat-" "GR1348941", Dotted, 20, 255;
    "buildkite-token": "bkua_" "bkaj_" "bkat_", Hex, 40, 40;
    "circleci-token": "CCIPAT_" "CCIPRJ_", Word, 40, 90;
    "clojars-token": "CLOJARS_", Alphanumeric, 60, 60;
    "jsr-token": "jsrp_" "jsrd_", Alphanumeric, 30, 60;
    "deno-token": "ddp_" "ddo_" "ddw_", Alphanumeric, 36, 40;
    "sonar-token": "squ_" "sqp_" "sqa_", Hex, 40, 40;
    "sourcegraph-token": "sgp_", Word, 40, 64;
    "sourcegraph-token": "slk_", Hex, 64, 64;
    "artifactory-token": "cmVmdGtuOj", Alphanumeric, 40, 80;
    "readme-key": "rdme_", Alphanumeric, 70, 70;
    "deepsource-token": "dsp_", Alphanumeric, 40, 40;
    "octopus-key": "API-", Upper, 25, 32;
    "infracost-key": "ico-", Alphanumeric, 32, 32;
    "checkly-key": "cu_", Hex, 32, 32;
    "github-token": "ghp_" "gho_" "ghu_" "ghs_" "ghr_", Alphanumeric, 36, 255;
    "github-token": "github_pat_", Word, 60, 255;
    "gitlab-token": "glpat-" "gldt-" "glrt-" "glcbt-" "glptt-" "glft-" "glimt-" "glagent-" "gloas-" "glsoat-", Dotted, 20, 255;
    "bitbucket-token": "ATBB", Alphanumeric, 28, 40;
    "atlassian-token": "ATATT3" "ATCTT3", Base64, 80, ANY;
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
    "openrouter-key": "sk-or-", Word, 40, 100;
    "langfuse-key": "sk-lf-", Word, 36, 36;
    "letta-key": "sk-let-", Word, 40, 120;
    "helicone-key": "sk-helicone-", Word, 20, 80;
    "cartesia-key": "sk_car_", Word, 20, 60;
    "context7-key": "ctx7sk-", Word, 30, 60;
    "firecrawl-key": "fc-", Hex, 32, 32;
    "brave-key": "BSA", Word, 24, 32;
    "jina-key": "jina_", Word, 50, 70;
    "nomic-key": "nk-", Word, 43, 43;
    "voyage-key": "pa-", Word, 43, 43;
    "mem0-key": "m0-", Alphanumeric, 36, 60;
    "supermemory-key": "sm_", Word, 60, 100;
    "zep-key": "z_", Dotted, 90, 200;
    "together-key": "tgp_v1_", Word, 40, 60;
    "anyscale-key": "esecret_", Alphanumeric, 24, 40;
    "pinecone-key": "pcsk_", Word, 40, 90;
    "llama-cloud-key": "llx-", Alphanumeric, 40, 60;
    "apify-token": "apify_api_", Alphanumeric, 30, 50;
    "browserbase-key": "bb_live_" "bb_test_", Word, 20, 50;
    "e2b-key": "e2b_", Hex, 40, 40;
    "modal-token": "ak-" "as-", Alphanumeric, 22, 22;
    "wandb-key": "wandb_v1_", Word, 40, 120;
    "dify-key": "app-" "dataset-", Alphanumeric, 24, 24;
    "langsmith-key": "lsv2_", Word, 40, 60;
    // Chat, mail and payment.
    "resend-key": "re_", Word, 32, 40;
    "matrix-token": "syt_" "syr_", Word, 30, 200;
    "matrix-token": "mat_" "mct_" "mcr_", Word, 30, 60;
    "brevo-key": "xkeysib-" "xsmtpsib-", Word, 64, 90;
    "slack-token": "xwfp-", Dotted, 20, 300;
    "intercom-token": "dG9rOj", Base64, 40, 80;
    "stytch-secret": "secret-live-" "secret-test-", Word, 36, 48;
    "statsig-key": "secret-", Alphanumeric, 40, 50;
    "clerk-key": "sk_live_" "sk_test_", Base64, 40, 80;
    "flutterwave-key": "FLWSECK-" "FLWSECK_TEST-", Word, 12, 50;
    "easypost-key": "EZAK" "EZTK", Alphanumeric, 54, 54;
    "duffel-token": "duffel_test_" "duffel_live_", Base64, 43, 43;
    "shippo-token": "shippo_live_" "shippo_test_", Hex, 40, 40;
    "woocommerce-key": "ck_" "cs_", Hex, 40, 40;
    "plaid-token": "access-sandbox-" "access-production-" "access-development-", Word, 36, 36;
    "paddle-key": "pdl_live_apikey_" "pdl_sdbx_apikey_", Word, 40, 90;
    "polar-token": "polar_oat_", Word, 30, 60;
    "square-token": "EAAAl" "EAAAE", Word, 59, 63;
    "shopify-token": "shptka_", Hex, 32, 32;
    "facebook-token": "EAACEdEose0cBA", Alphanumeric, 20, ANY;
    "dropbox-token": "sl.", Word, 100, ANY;
    "dropbox-token": "sl.u.", Word, 100, ANY;
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
    "posthog-key": "phx_" "phs_", Alphanumeric, 38, 50;
    "mapbox-token": "sk.eyJ" "tk.eyJ", Dotted, 60, 300;
    "hubspot-token": "pat-eu1-" "pat-na1-" "pat-na2-" "pat-na3-" "pat-ap1-", Word, 36, 36;
    "honeycomb-key": "hcaik_" "hcxik_" "hcalk_" "hcxlk_" "hcamk_" "hcbik_", Alphanumeric, 50, 70;
    "axiom-token": "xaat-" "xapt-", Word, 36, 36;
    "contentful-token": "CFPAT-", Word, 43, 43;
    "typeform-token": "tfp_", Dotted, 44, 64;
    "trello-token": "ATTA", Hex, 64, 72;
    "adafruit-key": "aio_", Alphanumeric, 28, 28;
    "adobe-secret": "p8e-", Alphanumeric, 32, 32;
    "frameio-token": "fio-u-", Word, 64, 64;
    "chromatic-token": "chpt_", Alphanumeric, 12, 40;
    "nostr-secret-key": "nsec1", Lower, 58, 58;
    "extended-private-key": "xprv" "zprv" "yprv" "tprv", Alphanumeric, 107, 107;
    "age-secret-key": "AGE-SECRET-KEY-1", Upper, 58, 58;
}

/// Returns the secret of this form at the match of its prefix, and the end of the text that was
/// read.
pub fn secret(text: &str, hit: Range<usize>, form: &Form) -> (Option<SecretMatch>, usize) {
    let bytes = text.as_bytes();
    let hit = hit.start..hit.start + form.prefix.len();
    if !is_boundary(bytes, hit.start) {
        return (None, 0);
    }
    let is_of = |byte: &&u8| form.alphabet.has(**byte);
    let reach_max = form.max.saturating_add(1).min(REACH_MAX);
    let reach = &bytes[hit.end..bytes.len().min(hit.end + reach_max)];
    let read = reach.iter().take_while(is_of).count();
    work::read(read);
    // A full stop ends a sentence, not a secret.
    let length = reach[..read]
        .iter()
        .rposition(|byte| *byte != b'.')
        .map_or(0, |last| last + 1);
    let ends = bytes
        .get(hit.end + length)
        .is_none_or(|next| !next.is_ascii_alphanumeric());
    let secret = || {
        if length < form.min || length > form.max || !(ends || length == REACH_MAX) {
            return None;
        }
        let tail = &text[hit.end..hit.end + length];
        // A long token contains any word by chance.
        let judged = &tail[..tail.len().min(if form.is_common() {
            JUDGED_MAX
        } else {
            WORDS_MAX
        })];
        if random::is_placeholder(judged) || (form.is_common() && !random::is_random(judged)) {
            return None;
        }
        // Names of caches end with a hash after `key-`.
        let before = &bytes[hit.start.saturating_sub(NEAR_MAX)..hit.start];
        let is_cache = before
            .windows(5)
            .any(|word| word.eq_ignore_ascii_case(b"cache"));
        if form.prefix == "key-" && (before.ends_with(b"-") || is_cache) {
            return None;
        }
        // The rest of a secret that exceeds the maximum.
        let rest = if length == REACH_MAX {
            bytes[hit.end + length..].iter().take_while(is_of).count()
        } else {
            0
        };
        Some((hit.start..hit.end + length + rest, form.kind))
    };
    (secret(), hit.end + read)
}
