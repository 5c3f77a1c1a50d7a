// @ts-check
// A cell as its sheet displays it. Most of it is the library's (docs/number-formats.md compares three); what none knows is
// here: Chinese and Japanese numerals ([DBNum1]), the years of Japanese eras, and morning and afternoon in Chinese.
/** @typedef {import("@e965/xlsx").CellObject} CellObject */
/** @typedef {typeof import("numfmt")} Numfmt */
/** @typedef {{ readonly numfmt: Numfmt, readonly nzh: typeof import("nzh")["default"] }} Formats */
/** @typedef {{ readonly type: string, readonly raw: string }} Token */

const CHINESE = "804";
const TAIWAN = "404";
const JAPANESE = "411";
/** Days from the first of 1900 to the first of 1904, where some workbooks begin to count. */
const DAYS_TO_1904 = 1_462;
const GENERAL = /^general$/i;
/** A whole number of so many digits is shown in full: in a narrow cell it would be rounded. */
const FULL_MIN = 1e11;

/** @returns {Promise<Formats>} */
export async function loadFormats() {
  const [numfmt, { default: nzh }] = await Promise.all([import("numfmt"), import("nzh")]);
  return { numfmt, nzh };
}

/**
 * @param {CellObject | undefined} cell
 * @param {Formats & { readonly date1904?: boolean }} formats
 * @returns {string}
 */
export function cellText(cell, formats) {
  if (!cell) return "";
  if (cell.t === "z" || cell.v === undefined) return cell.f ? `[not calculated: =${cell.f}]` : "";
  if (cell.t === "e") return cell.w ?? "#ERROR";
  if (cell.t === "b") return cell.v ? "TRUE" : "FALSE";
  const format = cell.z === undefined ? "General" : String(cell.z);
  if (typeof cell.v !== "number") return formattedText(format, String(cell.v), formats);
  const isDate1904 = formats.date1904 && formats.numfmt.isDateFormat(format);
  return formattedNumber(format, isDate1904 ? cell.v + DAYS_TO_1904 : cell.v, formats);
}

/** @param {string} format @param {string} text @param {Formats} formats */
function formattedText(format, text, { numfmt }) {
  if (!/[@;]/.test(format)) return text;
  try {
    return numfmt.format(format, text);
  } catch {
    return text;
  }
}

/**
 * @param {string} format
 * @param {number} value
 * @param {Formats} formats
 * @returns {string}
 */
export function formattedNumber(format, value, formats) {
  const { numfmt } = formats;
  if (GENERAL.test(format) && Number.isInteger(value) && Math.abs(value) >= FULL_MIN) return String(BigInt(value));
  try {
    const tokens = numfmt.tokenize(format);
    const isDate = numfmt.isDateFormat(format);
    const locale = localeOf(tokens);
    const plain = tokens.map((token) => knownToken(token, value, isDate, locale)).join("");
    const text = numfmt.format(plain.replace("上午/下午", "AM/PM"), value, { locale: localeName(plain, tokens) });
    const numerals = tokens.find(({ type }) => type === "DBNUM")?.raw.at(-2);
    if (numerals === undefined) return text;
    return withNumerals(text, { kind: numerals, locale, isDate, isGeneral: isGeneral(tokens) }, formats);
  } catch {
    return `${numfmt.format("General", value)} [in the format ${format}]`;
  }
}

/** @param {readonly Token[]} tokens */
function isGeneral(tokens) {
  return tokens.some(({ type }) => type === "GENERAL");
}

/** The language of a format, as the number that Windows has for it. @param {readonly Token[]} tokens */
function localeOf(tokens) {
  const tag = tokens.find(({ type }) => type === "LOCALE")?.raw;
  return /-([0-9a-f]+)\]$/i
    .exec(tag ?? "")?.[1]
    ?.toLowerCase()
    .slice(-3);
}

/** Where a format names no language: what only East Asian formats hold is Chinese. @param {string} format @param {readonly Token[]} tokens */
function localeName(format, tokens) {
  const isAsian = format.includes("上午/下午") || tokens.some(({ raw }) => /^aaaa?$/i.test(raw));
  return isAsian ? "zh-CN" : "en";
}

/**
 * A token in words that the library knows.
 * @param {Token} token
 * @param {number} value
 * @param {boolean} isDate
 * @param {string | undefined} locale
 */
function knownToken({ type, raw }, value, isDate, locale) {
  if (type === "DBNUM") return "";
  // A number's separators are those of the reader's system, whatever the currency's language.
  if (type === "LOCALE" && !isDate) return raw.replace(/-[^\]]*\]$/, "]").replace("[$]", "");
  if (type === "DATETIME" && locale === JAPANESE && /^(g{1,3}|e{1,2})$/i.test(raw)) return `"${era(value, raw)}"`;
  return raw;
}

const ERA_FORMS = /** @type {const} */ (["narrow", "short", "long"]);

/** @param {number} value @param {string} token @returns {string} */
function era(value, token) {
  const day = new Date(Date.UTC(1899, 11, 30) + Math.floor(value) * 86_400_000);
  const form = ERA_FORMS[token.length - 1] ?? "long";
  const style = new Intl.DateTimeFormat("ja-JP-u-ca-japanese", { era: form, year: "numeric", timeZone: "UTC" });
  const part = (/** @type {string} */ type) => style.formatToParts(day).find((each) => each.type === type)?.value ?? "";
  if (/^e/i.test(token)) return part("year").replace("元", "1").padStart(token.length, "0");
  return token.length === 2 ? part("era").slice(0, 1) : part("era");
}

const DIGITS = /** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */ ({
  1: { [CHINESE]: "〇一二三四五六七八九", [TAIWAN]: "○一二三四五六七八九", [JAPANESE]: "〇一二三四五六七八九" },
  2: { [CHINESE]: "零壹贰叁肆伍陆柒捌玖", [TAIWAN]: "零壹貳參肆伍陸柒捌玖", [JAPANESE]: "〇壱弐参四伍六七八九" },
  3: { [CHINESE]: "０１２３４５６７８９", [TAIWAN]: "０１２３４５６７８９", [JAPANESE]: "０１２３４５６７８９" },
});

/**
 * @param {string} text
 * @param {{ readonly kind: string, readonly locale: string | undefined, readonly isDate: boolean, readonly isGeneral: boolean }} form
 * @param {Formats} formats
 */
function withNumerals(text, { kind, locale = CHINESE, isDate, isGeneral }, { nzh }) {
  const digits = DIGITS[kind]?.[locale];
  if (digits === undefined) return text;
  const byDigit = (/** @type {string} */ number) => number.replace(/\d/g, (digit) => digits[Number(digit)] ?? digit);
  const spelled = (/** @type {string} */ number, tenMin = false) => {
    const form = locale === TAIWAN ? nzh.hk : nzh.cn;
    const words = kind === "2" ? form.encodeB(number, { tenMin }) : form.encodeS(number, { tenMin });
    if (locale === JAPANESE) return inJapanese(words, digits);
    if (kind === "1") return words.replaceAll("零", digits[0] ?? "零");
    return kind === "3"
      ? words.replace(
          /[零一二三四五六七八九]/g,
          (/** @type {string} */ word) => digits["零一二三四五六七八九".indexOf(word)] ?? word,
        )
      : words;
  };
  return text.replace(/\d+(\.\d+)?/g, (number) => {
    // The days and months of a date are spoken, its years spelled digit by digit.
    if (isDate) return /^[1-9]?\d$/.test(number) ? spelled(number, true) : byDigit(number);
    if (!isGeneral) return byDigit(number);
    const [whole = "", part] = number.split(".");
    return part === undefined ? spelled(whole) : `${spelled(whole)}.${byDigit(part)}`;
  });
}

/** @param {string} words @param {string} digits */
function inJapanese(words, digits) {
  const traditional = words
    .replaceAll("亿", "億")
    .replaceAll("万", "万")
    .replaceAll("零", words === "零" ? "〇" : "");
  const daiji = digits.includes("壱");
  if (!daiji) return traditional.replace(/[一](?=[十百千])/g, "");
  return traditional
    .replace(/[一-龥]/g, (word) => digits["零壹贰叁肆伍陆柒捌玖".indexOf(word)] ?? word)
    .replaceAll("仟", "阡")
    .replaceAll("佰", "百");
}
