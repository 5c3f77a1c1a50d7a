// What a host's own .d.ts files name: entry types, message roles, content blocks, and the fields of each. Read with the
// TypeScript parser from the installed packages, so that a new host's new shape is seen by whoever compares.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Host } from "../../fixtures/pi/hosts.ts";

/** The fields of each shape, by the literal that tells it apart: its `type`, or its `role`. */
export type Shapes = ReadonlyMap<string, readonly string[]>;

export interface HostShapes {
  readonly entries: Shapes;
  readonly messages: Shapes;
  readonly blocks: Shapes;
}

/** The declarations of several files by name. */
class Declarations {
  readonly #interfaces = new Map<string, ts.InterfaceDeclaration>();
  readonly #aliases = new Map<string, ts.TypeNode>();

  constructor(files: readonly string[]) {
    for (const file of files) {
      const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
      this.#collect(source);
    }
  }

  #collect(node: ts.Node): void {
    if (ts.isInterfaceDeclaration(node)) {
      const known = this.#interfaces.get(node.name.text);
      // A merged declaration stands in a module block: the one with members counts.
      if (!known || known.members.length === 0) this.#interfaces.set(node.name.text, node);
    }
    if (ts.isTypeAliasDeclaration(node)) this.#aliases.set(node.name.text, node.type);
    ts.forEachChild(node, (child) => this.#collect(child));
  }

  /** The interfaces that a type names: of a union each, of an alias what it stands for, of `X[keyof X]` the fields'. */
  interfacesOf(type: ts.TypeNode): ts.InterfaceDeclaration[] {
    if (ts.isUnionTypeNode(type)) return type.types.flatMap((part) => this.interfacesOf(part));
    if (ts.isParenthesizedTypeNode(type)) return this.interfacesOf(type.type);
    if (ts.isArrayTypeNode(type)) return this.interfacesOf(type.elementType);
    if (ts.isIndexedAccessTypeNode(type))
      return this.#named(type.objectType.getText()).flatMap((of) => this.#fieldsOf(of));
    if (ts.isTypeReferenceNode(type)) return this.#named(type.typeName.getText());
    return [];
  }

  #named(name: string): ts.InterfaceDeclaration[] {
    const alias = this.#aliases.get(name);
    if (alias) return this.interfacesOf(alias);
    const found = this.#interfaces.get(name);
    if (!found) throw new Error(`the host's types do not declare ${name}`);
    return [found];
  }

  #fieldsOf(declaration: ts.InterfaceDeclaration): ts.InterfaceDeclaration[] {
    return properties(declaration).flatMap(({ type }) => (type ? this.interfacesOf(type) : []));
  }

  alias(name: string): ts.InterfaceDeclaration[] {
    return this.#named(name);
  }

  /** What stands in the `content` of these. */
  contentsOf(declarations: readonly ts.InterfaceDeclaration[]): ts.InterfaceDeclaration[] {
    const contents = declarations.flatMap(properties).filter((property) => property.name.getText() === "content");
    return contents.flatMap(({ type }) => (type ? this.interfacesOf(type) : []));
  }
}

function properties(declaration: ts.InterfaceDeclaration): ts.PropertySignature[] {
  return declaration.members.filter(ts.isPropertySignature);
}

function shapesOf(declarations: readonly ts.InterfaceDeclaration[], tag: "type" | "role"): Shapes {
  return new Map(
    declarations.map((declaration) => {
      const all = properties(declaration);
      const literal = all.find(({ name }) => name.getText() === tag)?.type?.getText();
      if (!literal?.startsWith('"')) throw new Error(`${declaration.name.text} has no literal ${tag}`);
      return [literal.slice(1, -1), all.map(({ name }) => name.getText())];
    }),
  );
}

export function shapesOfHost({ root }: Host): HostShapes {
  const declarations = new Declarations([
    join(root, "pi-ai/dist/types.d.ts"),
    join(root, "pi-agent-core/dist/types.d.ts"),
    join(root, "pi-coding-agent/dist/core/messages.d.ts"),
    join(root, "pi-coding-agent/dist/core/session-manager.d.ts"),
  ]);
  const messages = declarations.alias("AgentMessage");
  return {
    entries: shapesOf(declarations.alias("SessionEntry"), "type"),
    messages: shapesOf(messages, "role"),
    blocks: shapesOf(declarations.contentsOf(messages), "type"),
  };
}
