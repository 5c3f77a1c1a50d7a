// Estimates of tokens, held against a real tokenizer (o200k) over generated text of each script.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokensIn } from "../../bench/tokens.ts";
import { textTokens, WHOLE_TEXT_CODE_UNITS } from "../../src/window/token-estimate.ts";
import { estimatedTokens } from "../../src/window/usage.ts";

const ENGLISH =
  "Please look at why the totals of the third quarter differ from the ledger; I think rounding is done twice between the import and the report. Yesterday we walked along the river, talked about books and remembered last summer.";
const RUSSIAN =
  "Пожалуйста, посмотри, почему итоги третьего квартала отличаются от бухгалтерской книги: мне кажется, что округление выполняется дважды между импортом и отчётом. Вчера мы гуляли по набережной, говорили о книгах и вспоминали прошлое лето.";
const CODE = [
  "export function total(rows: readonly Row[]): number {",
  "  let sum = 0;",
  "  for (let i = 0; i < rows.length; i++) sum += rows[i].amount;",
  "  return Math.round(sum * 100) / 100;",
  "}",
  'import { readFileSync } from "node:fs";',
  "    if (item is None or item.value < 0):",
  "        results[item.name] = compute_total(item.value * 1.25, index)",
  '  "name": "token-budget", "version": "1.0.3", "private": true,',
  "const settings = { ...DEFAULT_SETTINGS, ...loaded.values };",
];

/** Scripts with spaces: words, a space between them. Without: phrases, nothing between them. */
const SCRIPTS: Readonly<Record<string, { readonly pieces: readonly string[]; readonly between: string }>> = {
  English: { pieces: ENGLISH.split(" "), between: " " },
  German: {
    pieces:
      "Bitte sieh nach, warum die Summen des dritten Quartals vom Hauptbuch abweichen: Ich glaube, dass zwischen Einfuhr und Bericht zweimal gerundet wird. Gestern gingen wir am Fluss spazieren und sprachen über Bücher, über Möbel und die Größe der Gärten.".split(
        " ",
      ),
    between: " ",
  },
  Russian: { pieces: RUSSIAN.split(" "), between: " " },
  Arabic: {
    pieces:
      "من فضلك انظر لماذا تختلف مجاميع الربع الثالث عن دفتر الأستاذ: أعتقد أن التقريب يتم مرتين في مكان ما بين الاستيراد والتقرير. ذهبنا أمس إلى السوق القديم واشترينا الخبز والفواكه وتحدثنا طويلا عن الكتب والسفر.".split(
        " ",
      ),
    between: " ",
  },
  Chinese: {
    pieces:
      "请看一下，第三季度的总额，为什么与总账不一致，我觉得在导入和报告之间，某个地方进行了，两次四舍五入，请先写一个测试，再修改代码，然后告诉我，改了哪些文件，昨天我们沿着河边散步，谈论书籍，回忆去年夏天的旅行".split(
        "，",
      ),
    between: "，",
  },
  "Chinese, traditional": {
    pieces:
      "請看一下，第三季度的總額，為什麼與總帳不一致，我覺得在匯入和報告之間，某個地方進行了，兩次四捨五入，請先寫一個測試，再修改程式碼，然後告訴我，改了哪些檔案，昨天我們沿著河邊散步，談論書籍，回憶去年夏天的旅行".split(
        "，",
      ),
    between: "，",
  },
  Japanese: {
    pieces:
      "第三四半期の合計が、元帳と一致しない理由を、調べてください、インポートとレポートの間のどこかで、丸めが二回行われていると思います、まずテストを書き、それからコードを直して、変更したファイルを教えてください、昨日は川沿いを散歩しながら、本や去年の夏の旅行について話しました".split(
        "、",
      ),
    between: "、",
  },
  kana: {
    pieces:
      "あのひとは、きのうともだちといっしょに、かわのそばをあるきながら、たくさんのほんについて、はなしていました、コンピューターのプログラムを、テストするアプリケーションを、インストールしてください".split(
        "、",
      ),
    between: "、",
  },
  Korean: {
    pieces:
      "분기 합계가 원장과 다른 이유를 살펴봐 주세요. 가져오기와 보고서 사이 어딘가에서 반올림이 두 번 이루어지는 것 같습니다. 어제 우리는 강가를 따라 걸으며 책과 지난여름의 여행에 대해 이야기했습니다.".split(
        " ",
      ),
    between: " ",
  },
  emoji: { pieces: [..."😀😂🤣😍🥰😎🤔🙌👏🎉🚀🔥💯✨🐛🧪📦🔧🌍🍕🐶🦄🌈👍"], between: "" },
  code: { pieces: CODE, between: "\n" },
};

const MORE = 200;

/** A few hundred pieces in any order: prose enough for its average to count. */
function textOf({ pieces, between }: { readonly pieces: readonly string[]; readonly between: string }) {
  return fc
    .array(fc.constantFrom(...pieces), { minLength: MORE, maxLength: 2 * MORE })
    .map((chosen) => chosen.join(between));
}

const bytes = fc.uint8Array({ minLength: 1_000, maxLength: 4_000 });
const GENERATED: Readonly<Record<string, fc.Arbitrary<string>>> = {
  ...Object.fromEntries(Object.entries(SCRIPTS).map(([name, script]) => [name, textOf(script)])),
  base64: bytes
    .map((seed) => Uint8Array.from(seed, (byte, i) => (byte * 167 + i * i * 31 + (i >> 3)) & 255))
    .map((data) => Buffer.from(data).toString("base64")),
  numbers: fc.array(fc.nat(1_000_000), { minLength: MORE, maxLength: 2 * MORE }).map((numbers) => numbers.join(",")),
};

const RUNS = 15;

function expectWithinAQuarter(estimate: number, counted: number): void {
  expect(estimate).toBeGreaterThan(counted * 0.75);
  expect(estimate).toBeLessThan(counted * 1.25);
}

describe("an estimate of tokens", () => {
  it.each(Object.entries(GENERATED))("is within a quarter of a tokenizer's count for %s", (_name, texts) => {
    fc.assert(
      fc.property(texts, (text) => expectWithinAQuarter(textTokens(text), tokensIn(text))),
      { numRuns: RUNS },
    );
  });

  it("is within a quarter for a text of several scripts, sampled or not", () => {
    const mixed = fc.tuple(...Object.values(SCRIPTS).map(textOf)).map((texts) => texts.join("\n"));
    fc.assert(
      fc.property(mixed, (text) => {
        expect(text.length).toBeGreaterThan(WHOLE_TEXT_CODE_UNITS);
        expectWithinAQuarter(textTokens(text), tokensIn(text));
      }),
      { numRuns: RUNS },
    );
  });

  it("grows with the text: no beginning of it has more", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.nat(60), (text, at) => {
        expect(textTokens(text.slice(0, at))).toBeLessThanOrEqual(textTokens(text) + 1);
      }),
    );
  });

  it("reads each code unit of a short text once, and of a long one a fixed number", () => {
    const reads = (length: number) => {
      let count = 0;
      const text = {
        length,
        charCodeAt: () => {
          count++;
          return 97;
        },
      };
      textTokens(text as unknown as string);
      return count;
    };
    expect(reads(1_000)).toBe(1_000);
    expect(reads(10 * WHOLE_TEXT_CODE_UNITS)).toBeLessThanOrEqual(WHOLE_TEXT_CODE_UNITS);
    expect(reads(10_000_000)).toBeLessThanOrEqual(WHOLE_TEXT_CODE_UNITS);
  });

  it("is what blocks count, beside images and the arguments of calls", () => {
    const call = { type: "toolCall", id: "c", name: "write", arguments: { text: RUSSIAN } };
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    expect(estimatedTokens([{ type: "text", text: ENGLISH }])).toBe(Math.ceil(textTokens(ENGLISH)));
    expect(estimatedTokens([call, image])).toBe(
      Math.ceil(textTokens(JSON.stringify({ text: RUSSIAN })) + estimatedTokens([image])),
    );
  });
});
