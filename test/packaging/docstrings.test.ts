// What a program can reach of this package says what it is: every export, and every member of every type behind it. A
// number says its unit, what may be left out what it is then, and every function and method its errors.
import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { beforeAll, describe, expect, it } from "vitest";
import { PACKAGE_DIR } from "../../fixtures/pi/hosts.ts";

/** The sources whose types package.json exports. */
function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(PACKAGE_DIR, "package.json"), "utf8")) as { exports: unknown };
  const types = JSON.stringify(exports).match(/dist\/[^"]*\.d\.ts/g) ?? [];
  const sources = types.map((path) => path.replace(/^dist\/(types|cjs)\//, "").replace(/\.d\.ts$/, ".ts"));
  return [...new Set(sources)].map((path) => join(PACKAGE_DIR, path));
}

const UNIT = /\b(characters|bytes|milliseconds|tokens|cost|number of|how many|items|lines|runs|counted)\b/i;
const LEFT_OUT = /\b(default|left out|without it|undefined)\b/i;

const codesText = readFileSync(join(PACKAGE_DIR, "src/errors.ts"), "utf8");
const CODES = new Set([...codesText.matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code = ""]) => code));

/** Everything that is wrong with the documentation of what some files export. */
class Inspection {
  readonly problems: string[] = [];
  /** Names of what was looked at. */
  readonly seen = new Set<string>();
  readonly #checker: ts.TypeChecker;
  readonly #visited = new Set<ts.Symbol>();
  readonly #waiting: ts.Symbol[] = [];

  constructor(program: ts.Program, files: readonly string[]) {
    this.#checker = program.getTypeChecker();
    for (const file of files) {
      const source = program.getSourceFile(file);
      const module = source && this.#checker.getSymbolAtLocation(source);
      if (!module) throw new Error(`${file} is no module`);
      for (const symbol of this.#checker.getExportsOfModule(module)) this.#reach(symbol);
    }
    for (let symbol = this.#waiting.pop(); symbol; symbol = this.#waiting.pop()) this.#inspect(symbol);
    this.problems.sort();
  }

  #reach(symbol: ts.Symbol): void {
    const real = symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    const own = real.declarations?.some((node) => {
      const { fileName } = node.getSourceFile();
      return fileName.startsWith(PACKAGE_DIR) && !fileName.includes("node_modules");
    });
    if (!own || real.flags & ts.SymbolFlags.TypeParameter || this.#visited.has(real)) return;
    this.#visited.add(real);
    this.#waiting.push(real);
  }

  #inspect(symbol: ts.Symbol): void {
    for (const node of symbol.declarations ?? []) {
      const path = `${relative(PACKAGE_DIR, node.getSourceFile().fileName)}: ${symbol.name}`;
      this.seen.add(symbol.name);
      // A constant of which only the type is reached is no export: what is said of it stands in its file.
      this.#described(node, path, symbol);
      if (ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node)) {
        for (const clause of node.heritageClauses ?? []) for (const type of clause.types) this.#follow(type, path);
        for (const member of node.members) this.#member(member, path);
      } else if (ts.isTypeAliasDeclaration(node)) {
        this.#follow(node.type, path);
      } else if (ts.isFunctionDeclaration(node)) {
        this.#callable(node, path);
      } else if (ts.isVariableDeclaration(node) && node.type) {
        this.#follow(node.type, path);
      }
    }
  }

  #member(member: ts.ClassElement | ts.TypeElement, owner: string): void {
    if (member.name && ts.isPrivateIdentifier(member.name)) return;
    const path = `${owner}.${member.name?.getText() ?? "constructor"}`;
    const symbol = this.#checker.getSymbolAtLocation(member.name ?? member);
    const text = this.#described(member, path, symbol);
    if (ts.isConstructorDeclaration(member)) return;
    if (ts.isMethodDeclaration(member) || ts.isMethodSignature(member)) return this.#callable(member, path);
    if (!ts.isPropertySignature(member) && !ts.isPropertyDeclaration(member)) return;
    if (member.questionToken && !LEFT_OUT.test(text))
      this.problems.push(`${path}: does not say what it is when left out`);
    if (member.type?.kind === ts.SyntaxKind.NumberKeyword && !UNIT.test(text))
      this.problems.push(`${path}: a number without a unit`);
    if (member.type) this.#follow(member.type, path);
  }

  /** Its comment; a field that can only hold one value, as those that tell the cases of a union apart, needs none. */
  #described(node: ts.Node, path: string, symbol: ts.Symbol | undefined): string {
    const own = ts.getJSDocCommentsAndTags(node).map((comment) => comment.getText());
    const given = own.join("\n") || ts.displayPartsToString(symbol?.getDocumentationComment(this.#checker));
    const text = given.replace(/\s*\n\s*\*?\s*/g, " ");
    const tells = ts.isPropertySignature(node) && node.type && ts.isLiteralTypeNode(node.type);
    if (text.replace(/[/*\s]|@throws[\s\S]*/g, "") === "" && !tells) this.problems.push(`${path}: no docstring`);
    return text;
  }

  #callable(node: ts.SignatureDeclaration, path: string): void {
    const comment = ts
      .getJSDocCommentsAndTags(node)
      .map((each) => each.getText())
      .join("\n");
    const errors = comment.slice(Math.max(0, comment.search(/@throws|\b[Tt]hrows\b/)));
    if (!/@throws|\bthrows\b|never rejects|never throws/i.test(comment))
      this.problems.push(`${path}: does not say its errors`);
    for (const [, code = ""] of errors.matchAll(/`([a-z]+_[a-z_]+|refused)`/g))
      if (!CODES.has(code)) this.problems.push(`${path}: ${code} is no code of errors`);
    for (const parameter of node.parameters) if (parameter.type) this.#follow(parameter.type, path);
    if (node.type) this.#follow(node.type, path);
  }

  /** Everything that a type is made of: members in place, and other types by name. */
  #follow(node: ts.Node, path: string): void {
    if (ts.isTypeLiteralNode(node)) {
      for (const member of node.members) this.#member(member, path);
      return;
    }
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : undefined;
    const symbol = name && this.#checker.getSymbolAtLocation(name);
    if (symbol) this.#reach(symbol);
    // What is asked of another type by a field's name (`FileRow["kind"]`) is not that type.
    if (ts.isIndexedAccessTypeNode(node)) return;
    ts.forEachChild(node, (child) => this.#follow(child, path));
  }
}

function inspected(files: readonly string[]): Inspection {
  const { config } = ts.readConfigFile(join(PACKAGE_DIR, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [...files] }, ts.sys, PACKAGE_DIR);
  return new Inspection(ts.createProgram([...files], options), files);
}

describe("the documentation in the code", () => {
  let inspection: Inspection;
  beforeAll(() => {
    inspection = inspected(entries());
  });

  it("is looked at for every module that package.json exports", () => {
    const files = entries();
    expect(files.length).toBeGreaterThanOrEqual(2);
    expect(files.filter((file) => !existsSync(file))).toEqual([]);
    for (const name of ["createTokenBudgetExtension", "TaskDispatcher", "HistoryQuery", "DailyQuota", "PlanEntry"])
      expect(inspection.seen).toContain(name);
  });

  it("says of every export and of each of its members what it is, its unit, its default and its errors", () => {
    expect(inspection.problems).toEqual([]);
  });

  it("finds what is missing", () => {
    const place = join(PACKAGE_DIR, "test/packaging/undocumented.ts");
    expect(inspected([place]).problems).toEqual(
      [
        "test/packaging/undocumented.ts: Bare.limitMs: a number without a unit",
        "test/packaging/undocumented.ts: Bare.nested.inner: no docstring",
        "test/packaging/undocumented.ts: Bare.silent: no docstring",
        "test/packaging/undocumented.ts: Bare.silent: does not say what it is when left out",
        "test/packaging/undocumented.ts: act: does not say its errors",
        "test/packaging/undocumented.ts: act: no docstring",
        "test/packaging/undocumented.ts: wrong: not_a_code is no code of errors",
      ].sort(),
    );
  });
});
