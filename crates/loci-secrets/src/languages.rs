//! A table of the names of passwords and keys in other languages than English.

use std::borrow::Cow;

/// The kind of value that a word announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A password, in whatever form.
    Password,
    /// A key or a token, which is random.
    Key,
    /// A number of some digits.
    Pin,
}

/// The words of a language for passwords and keys.
#[derive(Debug)]
pub struct Language {
    /// The words for a password, in lower case.
    pub passwords: &'static [&'static str],
    /// The words for a key or a token of a program, in lower case.
    pub keys: &'static [&'static str],
    /// The words between such a name and its value in a sentence, as in "das Passwort ist".
    pub verbs: &'static [&'static str],
}

macro_rules! languages {
    ($($passwords:expr, $keys:expr, $verbs:expr;)+) => {
        /// All languages.
        pub static LANGUAGES: &[Language] = &[
            $(Language { passwords: &$passwords, keys: &$keys, verbs: &$verbs },)+
        ];
    };
}

languages! {
    // German.
    ["passwort", "passwörter", "kennwort", "kennwörter", "zugangscode", "passphrase"],
    ["api-schlüssel", "geheimer schlüssel", "zugriffstoken"], ["ist", "lautet", "war", "heißt"];
    // French.
    ["mot de passe", "mots de passe", "mot_de_passe", "mot-de-passe", "motdepasse", "mdp", "phrase secrète", "code secret", "code d'accès"],
    ["clé api", "clé d'api", "clé secrète", "clé d'accès", "jeton d'accès", "jeton"], ["est", "était", "c'est"];
    // Spanish.
    ["contraseña", "contrasena", "clave de acceso", "clave", "palabra clave"],
    ["clave api", "clave de api", "clave secreta"], ["es", "era", "será"];
    // Portuguese.
    ["senha", "palavra-passe", "palavra passe", "palavra-chave"],
    ["chave api", "chave de api", "chave da api", "chave secreta"], ["é", "era"];
    // Italian.
    ["parola d'ordine", "parola chiave", "codice segreto", "codice di accesso"],
    ["chiave api", "chiave segreta", "chiave d'accesso"], ["è", "era", "sarà"];
    // Dutch and Afrikaans.
    ["wachtwoord", "paswoord", "toegangscode", "wagwoord"], ["api-sleutel", "geheime sleutel", "toegangstoken"], ["is", "luidt", "was"];
    // Polish.
    ["hasło", "hasła", "haslo"], ["klucz api", "tajny klucz"], ["to", "jest", "brzmi"];
    // Czech and Slovak.
    ["heslo", "hesla"], ["api klíč", "klíč api", "tajný klíč"], ["je", "bylo", "zní"];
    // Swedish.
    ["lösenord", "losenord", "lösenfras"], ["api-nyckel", "hemlig nyckel"], ["är", "var"];
    // Danish.
    ["adgangskode", "kodeord", "løsen"], ["api-nøgle", "adgangstoken"], ["er", "var"];
    // Norwegian.
    ["passord"], ["api-nøkkel", "tilgangstoken"], ["er", "var"];
    // Finnish.
    ["salasana", "tunnuslause"], ["api-avain"], ["on", "oli"];
    // Estonian, Latvian, Lithuanian.
    ["parool", "salasõna", "parole", "slaptažodis", "slaptazodis"], ["api võti"], ["on", "ir", "yra"];
    // Icelandic.
    ["lykilorð"], [], ["er"];
    // Turkish and Azerbaijani.
    ["şifre", "sifre", "parola", "şifrə"], ["api anahtarı", "gizli anahtar"], ["olarak"];
    // Hungarian.
    ["jelszó", "jelszo", "jelszava"], ["api kulcs", "api-kulcs"], ["az", "ez"];
    // Romanian.
    ["parolă", "parola", "cuvânt de trecere"], ["cheie api", "cheia api"], ["este", "e"];
    // Croatian, Bosnian, Slovenian, Serbian.
    ["lozinka", "zaporka", "šifra", "geslo", "лозинка"], ["api ključ"], ["je"];
    // Albanian.
    ["fjalëkalimi", "fjalëkalim"], [], ["është"];
    // Catalan, Galician, Basque.
    ["contrasenya", "contrasinal", "pasahitza"], ["clau api"], ["és", "é", "da"];
    // Welsh, Irish, Swahili, Filipino, Esperanto.
    ["cyfrinair", "pasfhocal", "nenosiri", "nywila", "kontrasenyas", "pasvorto"], [], ["ni", "ay", "estas", "yw"];
    // Russian, Ukrainian, Belarusian.
    ["пароль", "пароля", "паролем", "парольна фраза", "кодовое слово"],
    ["ключ api", "api-ключ", "секретный ключ", "секретний ключ", "токен"], ["это", "это:", "це", "был", "равен", "такой"];
    // Bulgarian, Macedonian.
    ["парола", "паролата"], ["ключ за api"], ["е", "беше"];
    // Kazakh, Mongolian, Uzbek.
    ["құпия сөз", "құпиясөз", "нууц үг", "parol"], [], [];
    // Greek.
    ["κωδικός πρόσβασης", "κωδικός", "κωδικος", "συνθηματικό"], ["κλειδί api"], ["είναι", "ειναι"];
    // Armenian, Georgian.
    ["գաղտնաբառ", "პაროლი"], [], ["է", "არის"];
    // Chinese.
    ["密码", "密碼", "口令", "通行码", "通行碼", "密语"],
    ["密钥", "密鑰", "金鑰", "令牌", "访问令牌"], ["是", "为", "為", "就是", "改为", "改成", "设为", "设置为"];
    // Japanese.
    ["パスワード", "パスフレーズ", "合言葉", "パスコード", "ﾊﾟｽﾜｰﾄﾞ"],
    ["apiキー", "トークン", "秘密鍵", "シークレット"], ["は", "が", "を"];
    // Korean.
    ["비밀번호", "패스워드", "암호", "비번"], ["api 키", "api키", "토큰", "비밀 키", "시크릿"], ["는", "은", "가", "이"];
    // Arabic.
    ["كلمة المرور", "كلمة السر", "كلمة مرور", "كلمه المرور", "الرقم السري", "رمز المرور", "رمز الدخول"],
    ["مفتاح api", "مفتاح الواجهة", "رمز الوصول"], ["هي", "هو"];
    // Persian, Urdu, Pashto.
    ["رمز عبور", "گذرواژه", "کلمه عبور", "پاس ورڈ", "پاسورڈ", "پټنوم"], ["کلید api"], ["است", "ہے"];
    // Hebrew.
    ["סיסמה", "סיסמא", "ססמה"], ["מפתח api"], ["היא", "הוא"];
    // Hindi, Marathi, Nepali.
    ["पासवर्ड", "कूटशब्द", "गुप्त शब्द", "संकेतशब्द"], ["एपीआई कुंजी", "api कुंजी"], ["है", "आहे", "हो"];
    // Bengali, Gujarati, Punjabi, Tamil, Telugu, Kannada, Malayalam, Sinhala.
    ["পাসওয়ার্ড", "પાસવર્ડ", "ਪਾਸਵਰਡ", "கடவுச்சொல்", "పాస్‌వర్డ్", "పాస్వర్డ్", "ಪಾಸ್‌ವರ್ಡ್", "ಪಾಸ್ವರ್ಡ್", "പാസ്‌വേഡ്", "പാസ്വേഡ്", "මුරපදය"], [],
    ["হল", "হলো", "છે", "ਹੈ"];
    // Thai, Lao, Khmer, Burmese.
    ["รหัสผ่าน", "ລະຫັດຜ່ານ", "ពាក្យសម្ងាត់", "စကားဝှက်"], [], ["คือ", "ແມ່ນ", "គឺ"];
    // Vietnamese.
    ["mật khẩu", "mat khau", "matkhau", "mật mã"], ["khóa api", "khoá api", "mã truy cập"], ["là", "la"];
    // Indonesian and Malay.
    ["kata sandi", "sandi", "kata laluan", "katasandi"], ["kunci api", "kunci rahasia"], ["adalah", "ialah", "yaitu"];
}

/// Words for a secret number, in lower case.
const PINS: &[&str] = &[
    "暗証番号",
    "пін-код",
    "пин-код",
    "geheimzahl",
    "código pin",
    "code pin",
    "codice pin",
    "pin码",
];

/// Returns each word with its meaning in the cases in which it is written. ASCII letters are found
/// in any case, so other words come more than once only for their other letters.
pub fn needles() -> impl Iterator<Item = (Cow<'static, str>, Meaning)> {
    let words = LANGUAGES.iter().flat_map(|language| {
        let words =
            |words: &'static [&str], meaning| words.iter().map(move |word| (*word, meaning));
        words(language.passwords, Meaning::Password).chain(words(language.keys, Meaning::Key))
    });
    let pins = PINS.iter().map(|word| (*word, Meaning::Pin));
    words.chain(pins).flat_map(|(word, meaning)| {
        let mut cases = vec![Cow::Borrowed(word)];
        if !word.is_ascii() {
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            let capital = first.chain(letters).collect();
            for needle in [capital, word.to_uppercase()] {
                if !cases
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(&needle))
                {
                    cases.push(needle.into());
                }
            }
        }
        cases.into_iter().map(move |word| (word, meaning))
    })
}

/// Returns the number of bytes of a verb at the beginning of a text, with the blanks after it.
pub fn verb(text: &str) -> Option<usize> {
    let verbs = LANGUAGES.iter().flat_map(|language| language.verbs);
    verbs
        .filter_map(|verb| {
            let rest = text.strip_prefix(*verb)?;
            let value = rest.trim_start_matches([' ', '\t', ':', '\u{ff1a}', '\u{a0}']);
            // Languages without blanks have none after a verb.
            let is_whole = value.len() < rest.len()
                || rest.starts_with(['"', '\'', '`'])
                || (!verb.is_ascii() && rest.starts_with(|next: char| next.is_ascii()));
            is_whole.then_some(text.len() - value.len())
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_each_case_once() {
        let needles: Vec<_> = needles().collect();
        let count = |word: &str| needles.iter().filter(|(needle, _)| needle == word).count();
        assert_eq!(count("пароль"), 1);
        assert_eq!(count("Пароль"), 1);
        assert_eq!(count("ПАРОЛЬ"), 1);
        assert_eq!(count("senha"), 1);
        assert_eq!(count("SENHA"), 0);
    }

    #[test]
    fn verbs_are_whole_words() {
        assert_eq!(verb("ist Qz"), Some(4));
        assert_eq!(verb("isten"), None);
        assert_eq!(verb("是Qz"), Some(3));
        assert_eq!(verb("Qz"), None);
    }
}
