import type { ServiceOutcome } from '../../../domain/charge-outcome.ts'
import { codeAt, lengthOf } from '../../../domain/text-codes.ts'
import type {
  AnswerReader,
  AnswerSource,
  AnswerTest,
  AnswerValue,
  KeyValueSyntax,
  Message,
  ResponseNode,
} from '../../../file-types/file-type.ts'
import { isForm, NumberText } from '../../../file-types/file-type.ts'
import type { AnswerEncoder } from '../encoder.ts'
import { malformedText } from '../error-text.ts'
import { encodePercent, percentCodes } from './percent.ts'

/**
 * Encoder of answers as `key=value` text. Keys of nested members are dotted, such as
 * `services.0.grantedVolume`.
 */
export function createKeyValueEncoder(
  nodes: readonly ResponseNode[],
  syntax: KeyValueSyntax,
): AnswerEncoder {
  const pairs = new Pairs(syntax)
  const write = writerOf(nodes, '', pairs)
  return {
    encode: (answer) => pairs.text(write(answer, null, answer.echo.message)),
    encodeError: (error, code) => {
      const status = pairs.start('status') + 0 + pairs.start('returnCode') + code
      return pairs.text(status + pairs.start('desc') + pairs.escape(malformedText(error)))
    },
  }
}

/** Writes the pairs of nodes, each with a leading separator. */
type Write = (answer: AnswerSource, service: ServiceOutcome | null, entry: Message) => string

/** Consecutive nodes with the same condition. */
interface Run {
  readonly needs: AnswerTest | null
  readonly writers: Write[]
}

/** `path` is the common prefix of their keys. */
function writerOf(nodes: readonly ResponseNode[], path: string, pairs: Pairs): Write {
  const runs = runsOf(nodes, path, pairs)
  return (answer, service, entry) => {
    let text = ''
    for (let at = 0; at < runs.length; at += 1) {
      const { needs, writers } = runs[at] as Run
      if (needs !== null && !needs(answer, service)) continue
      for (let index = 0; index < writers.length; index += 1) {
        text += (writers[index] as Write)(answer, service, entry)
      }
    }
    return text
  }
}

function runsOf(nodes: readonly ResponseNode[], path: string, pairs: Pairs): readonly Run[] {
  const runs: Run[] = []
  for (const node of nodes) {
    const needs = node.kind === 'value' ? (node.needs ?? null) : null
    const writer = nodeWriter(node, path, pairs)
    const last = runs.at(-1)
    if (last?.needs === needs) last.writers.push(writer)
    else runs.push({ needs, writers: [writer] })
  }
  return runs
}

function nodeWriter(node: ResponseNode, path: string, pairs: Pairs): Write {
  const key = path + pairs.escape(node.name)
  switch (node.kind) {
    case 'value':
      return valueWriter(node.read, key, pairs)
    case 'group':
      return writerOf(node.children, `${key}.`, pairs)
    case 'services':
      return servicesWriter(node.children, key, pairs)
  }
}

function valueWriter(read: AnswerReader, key: string, pairs: Pairs): Write {
  const start = pairs.start(key)
  return (answer, service, entry) => {
    const value = read(answer, service, entry)
    switch (typeof value) {
      case 'undefined':
        return ''
      case 'string':
        return start + pairs.escape(value)
      case 'object':
        return value instanceof NumberText ? start + value.digits : pairs.members(key, value)
      default:
        return start + value
    }
  }
}

function servicesWriter(nodes: readonly ResponseNode[], key: string, pairs: Pairs): Write {
  /** Writers by index of the service, created on demand. */
  const writers: Write[] = []
  return (answer) => {
    const { echo, outcome } = answer
    let text = ''
    for (let index = 0; index < outcome.services.length; index += 1) {
      if (index === writers.length) writers.push(writerOf(nodes, `${key}.${index}.`, pairs))
      const service = outcome.services[index] ?? null
      text += (writers[index] as Write)(answer, service, echo.entries[index] ?? echo.message)
    }
    return text
  }
}

/** Formats pairs in one syntax. */
class Pairs {
  readonly escape: (text: string) => string
  readonly #pairSeparator: string
  readonly #valueSeparator: string

  constructor(syntax: KeyValueSyntax) {
    this.#pairSeparator = syntax.pairSeparator
    this.#valueSeparator = syntax.valueSeparator
    this.escape = escapeOf(syntax)
  }

  /** Removes the leading separator of the answer. */
  text(pairs: string): string {
    return pairs.slice(this.#pairSeparator.length)
  }

  /**
   * Separator, key (escaped) and value separator. Copied into a flat string, which concatenates
   * faster.
   */
  start(key: string): string {
    return Buffer.from(this.#pairSeparator + key + this.#valueSeparator).toString('utf8')
  }

  /** Pairs of a list or record, one for each text in it. */
  members(path: string, value: object): string {
    let text = ''
    for (const [name, member] of Object.entries(value) as [string, AnswerValue | undefined][]) {
      if (member === undefined) continue
      const key = `${path}.${this.escape(name)}`
      if (typeof member === 'object' && !(member instanceof NumberText)) {
        text += this.members(key, member)
      } else {
        text += this.#pairSeparator + key + this.#valueSeparator + this.#text(member)
      }
    }
    return text
  }

  #text(value: string | number | boolean | NumberText): string {
    if (typeof value === 'string') return this.escape(value)
    return typeof value === 'object' ? value.digits : String(value)
  }
}

/** Escapes texts so that they can be read back; with quoting `none`, separators are lost. */
function escapeOf(syntax: KeyValueSyntax) {
  const { quoting, pairSeparator, valueSeparator } = syntax
  if (quoting === 'none') return withoutSeparator(pairSeparator)
  const separators = pairSeparator + valueSeparator
  if (quoting === 'quotes') return quoted(separators)
  const codes = percentCodes(separators, isForm(syntax))
  return (text: string) => encodePercent(text, codes)
}

function quoted(separators: string) {
  const isKept = new Uint8Array(65_536).fill(1)
  for (const char of `${separators}"\r\n`) isKept[char.charCodeAt(0)] = 0
  return (text: string) => {
    const length = lengthOf(text)
    let at = 0
    while (at < length && isKept[codeAt(text, at)] === 1) at += 1
    return at === length ? text : `"${text.replaceAll('"', '""')}"`
  }
}

/** Replaces characters that would end the pair by a filler: the syntax has no escape. */
function withoutSeparator(separator: string) {
  const filler = [' ', '_', '-', '.'].find((char) => !separator.includes(char)) ?? '?'
  const parts = new Set([...separator, '\r', '\n'])
  return (text: string) => {
    // The separator that follows must be the first one found, even if the text ends like a part of
    // it.
    const isSafe = (text + separator).indexOf(separator) === text.length && !NEWLINE.test(text)
    if (isSafe) return text
    return Array.from(text, (char) => (parts.has(char) ? filler : char)).join('')
  }
}

const NEWLINE = /[\r\n]/
