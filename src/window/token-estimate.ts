// How many tokens a text is, without a tokenizer: byte-pair encodings see pieces of one kind (a word with the space
// before it, up to three digits, a run of signs), and how much fits one token depends on the script. Pure.

/** Tokens of one code unit, measured with o200k on prose of each script, spaces between words included. */
const PER_CODE_UNIT = {
  greek: 0.38,
  cyrillic: 0.27,
  hebrew: 0.4,
  arabic: 0.34,
  /** Indic, Thai, Georgian and the like. */
  otherLetter: 0.4,
  kana: 0.65,
  /** Simplified needs less than traditional. */
  han: 0.8,
  hangul: 0.65,
  /** Dashes, quotes, arrows, full-width signs. */
  sign: 0.75,
  /** An emoji is two of these, or a chain. */
  surrogate: 0.97,
} as const;

/** What a letter with a mark adds to its word; Vietnamese, whose marks are learnt with the syllable, is an exception. */
const MARKED_LETTER = 0.5;
const VIETNAMESE_LETTER = 0.05;

/** A word is one token up to so many letters, and then one more for each further four; capitals alone are rarer. */
const WORD_LETTERS = 8;
const LETTERS_PER_TOKEN = 4;
const CAPITALS = 3;
const CAPITALS_PER_TOKEN = 3;
/** Letters behind a digit are of a key or of encoded bytes, not a word. */
const BEHIND_DIGIT = 0.25;
const DIGITS_PER_TOKEN = 3;
const SIGNS_PER_TOKEN = 3;
/** The sign before a word often belongs to it, as in `.length`. */
const SIGN_BEFORE_WORD = 0.6;
/** Rules and boxes: runs of one sign are learnt. */
const LONG_SIGNS = 16;
const LONG_SIGNS_PER_TOKEN = 32;
const SPACES_PER_TOKEN = 32;

const UPPER = 1;
const LOWER = 2;
const DIGIT = 3;
const SIGN = 4;
const SPACE = 5;
const BREAK = 6;
const OTHER = 0;

/** What kind of piece an ASCII character belongs to. */
const KIND = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/[A-Z]/.test(char)) return UPPER;
  if (/[a-z]/.test(char)) return LOWER;
  if (/[0-9]/.test(char)) return DIGIT;
  if (/[\n\r]/.test(char)) return BREAK;
  return /[ \t]/.test(char) ? SPACE : SIGN;
});

/** Letters with marks are of the word around them. */
function isMarkedLatin(code: number): boolean {
  return (code >= 0xc0 && code < 0x250) || (code >= 0x1e00 && code < 0x1f00);
}

function beyondAscii(code: number): number {
  if (code < 0x0370) return PER_CODE_UNIT.sign;
  if (code < 0x0400) return PER_CODE_UNIT.greek;
  if (code < 0x0590) return PER_CODE_UNIT.cyrillic;
  if (code < 0x0600) return PER_CODE_UNIT.hebrew;
  if (code < 0x0780) return PER_CODE_UNIT.arabic;
  if (code < 0x2000) return code >= 0x1100 && code < 0x1200 ? PER_CODE_UNIT.hangul : PER_CODE_UNIT.otherLetter;
  if (code < 0x3040) return PER_CODE_UNIT.sign;
  if (code < 0x3100) return PER_CODE_UNIT.kana;
  if (code < 0xa000) return PER_CODE_UNIT.han;
  if (code < 0xac00) return PER_CODE_UNIT.otherLetter;
  if (code < 0xd800) return PER_CODE_UNIT.hangul;
  if (code < 0xe000) return PER_CODE_UNIT.surrogate;
  return code >= 0xfb1d && code < 0xff00 ? PER_CODE_UNIT.arabic : PER_CODE_UNIT.sign;
}

function letterRun(before: number): number {
  return before === DIGIT ? 1 + BEHIND_DIGIT : 1;
}

/** Tokens of a run of one kind; `before` and `next` are the kinds around it. */
function runTokens(kind: number, length: number, before: number, next: number): number {
  switch (kind) {
    case LOWER:
      return letterRun(before) + Math.max(0, length - WORD_LETTERS) / LETTERS_PER_TOKEN;
    case UPPER:
      return letterRun(before) + Math.max(0, length - CAPITALS) / CAPITALS_PER_TOKEN;
    case DIGIT:
      return Math.ceil(length / DIGITS_PER_TOKEN);
    case SIGN:
      if (length === 1 && (next === LOWER || next === UPPER)) return SIGN_BEFORE_WORD;
      return Math.ceil(length / (length < LONG_SIGNS ? SIGNS_PER_TOKEN : LONG_SIGNS_PER_TOKEN));
    case SPACE:
      // One space belongs to the word behind it.
      return length === 1 ? 0 : Math.ceil(length / SPACES_PER_TOKEN);
    case BREAK:
      // `;` and the break behind it are one token.
      return before === SIGN ? 0 : 1;
    default:
      return 0;
  }
}

function sliceTokens(text: string, from: number, to: number): number {
  let tokens = 0;
  let before = OTHER;
  let kind = OTHER;
  let start = from;
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i);
    let next = OTHER;
    if (code < 128) next = KIND[code] as number;
    else if (isMarkedLatin(code)) {
      next = LOWER;
      tokens += code < 0x1e00 ? MARKED_LETTER : VIETNAMESE_LETTER;
    } else tokens += beyondAscii(code);
    if (next === kind) continue;
    // A capital begins the word behind it.
    if (!(kind === UPPER && next === LOWER && i - start === 1)) {
      tokens += runTokens(kind, i - start, before, next);
      before = kind;
      start = i;
    }
    kind = next;
  }
  return tokens + runTokens(kind, to - start, before, OTHER);
}

/** Longer texts are sampled, so that an item costs the same however long it is. */
export const WHOLE_TEXT_CODE_UNITS = 8_192;
const SAMPLES = 32;
const SAMPLE_CODE_UNITS = WHOLE_TEXT_CODE_UNITS / SAMPLES;

/** An estimate of the tokens of a text, within a quarter for what test/window/token-estimate.test.ts lists. */
export function textTokens(text: string): number {
  if (text.length <= WHOLE_TEXT_CODE_UNITS) return sliceTokens(text, 0, text.length);
  let tokens = 0;
  const stride = (text.length - SAMPLE_CODE_UNITS) / (SAMPLES - 1);
  for (let i = 0; i < SAMPLES; i++) {
    const from = Math.floor(i * stride);
    tokens += sliceTokens(text, from, from + SAMPLE_CODE_UNITS);
  }
  return (tokens * text.length) / WHOLE_TEXT_CODE_UNITS;
}
