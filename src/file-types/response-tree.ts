/** Builds the structure of answers from dotted field names, which are nested groups. */
import { FieldError } from '../domain/fields.ts'
import type { AnswerReader, ResponseNode } from './file-type.ts'
import type { ResponseField } from './response-fields.ts'

type Draft = { name: string; path: string } & (
  | { kind: 'value'; fields: ResponseField[] }
  | { kind: 'group'; children: Draft[] }
  | { kind: 'services'; children: readonly ResponseNode[] }
)

/** Collects fields in the order in which their names, or their groups, first occur. */
export class ResponseTree {
  readonly #drafts: Draft[] = []

  /** `path`: location of the name in the document, for errors. Throws `FieldError`. */
  addField(field: ResponseField, path: string): void {
    const { group, name } = this.#place(field.names, path)
    const other = group.find((draft) => draft.name === name)
    if (other === undefined) {
      group.push({ kind: 'value', name, path, fields: [field] })
    } else if (other.kind === 'value' && other.fields.at(-1)?.isConditional === true) {
      other.fields.push(field)
    } else {
      refuse(path, other)
    }
  }

  addServices(names: readonly string[], path: string, children: readonly ResponseNode[]): void {
    const { group, name } = this.#place(names, path)
    const other = group.find((draft) => draft.name === name)
    if (other !== undefined) refuse(path, other)
    group.push({ kind: 'services', name, path, children })
  }

  nodes(): readonly ResponseNode[] {
    return this.#drafts.map(nodeOf)
  }

  #place(names: readonly string[], path: string): { group: Draft[]; name: string } {
    let group = this.#drafts
    for (const name of names.slice(0, -1)) {
      const other = group.find((draft) => draft.name === name)
      if (other === undefined) {
        const children: Draft[] = []
        group.push({ kind: 'group', name, path, children })
        group = children
      } else if (other.kind === 'group') {
        group = other.children
      } else {
        refuse(path, other)
      }
    }
    return { group, name: names.at(-1) ?? '' }
  }
}

const kindNames = {
  value: 'a field',
  group: 'a group of fields',
  services: 'the services',
} as const

function refuse(path: string, { name, kind, path: other }: Draft): never {
  throw new FieldError(path, `is in conflict with ${other}: ${name} is ${kindNames[kind]} there`)
}

function nodeOf(draft: Draft): ResponseNode {
  const { name } = draft
  switch (draft.kind) {
    case 'value':
      return valueNode(name, draft.fields)
    case 'group':
      return { kind: 'group', name, children: draft.children.map(nodeOf) }
    case 'services':
      return { kind: 'services', name, children: draft.children }
  }
}

function valueNode(name: string, fields: readonly ResponseField[]): ResponseNode {
  const [first, ...others] = fields
  const read = firstOf(fields.map((field) => field.read))
  const needs = first?.needs
  const isShared = others.every((other) => other.needs === needs)
  if (needs === undefined || !isShared) return { kind: 'value', name, read }
  return { kind: 'value', name, read, needs }
}

/** Returns the first present value. */
function firstOf(readers: readonly AnswerReader[]): AnswerReader {
  const [first, ...others] = readers
  if (first === undefined) return () => undefined
  if (others.length === 0) return first
  return (answer, service, entry) => {
    for (const read of readers) {
      const value = read(answer, service, entry)
      if (value !== undefined) return value
    }
    return undefined
  }
}
