import type {
  Answer,
  AnswerValue,
  KeyValueSyntax,
  Message,
  ResponseNode,
} from '../../catalog/file-types/file-type.ts'
import { NumberText } from '../../catalog/file-types/file-type.ts'
import type { ServiceOutcome } from '../../domain/charge-outcome.ts'
import type { AnswerEncoder } from './encoder.ts'
import { malformedText } from './error-text.ts'
import { encodePercent, percentCodes } from './percent.ts'

/**
 * Encoder of answers as `key=value` text: members of groups and lists have dots in their keys, as
 * in `services.0.grantedVolume`.
 */
export function createKeyValueEncoder(
  nodes: readonly ResponseNode[],
  syntax: KeyValueSyntax,
): AnswerEncoder {
  const pairs = new Pairs(syntax)
  const write = writerOf(nodes, '', pairs)
  const isForm =
    syntax.quoting === 'percent' && syntax.pairSeparator === '&' && syntax.valueSeparator === '='
  return {
    contentType: isForm ? 'application/x-www-form-urlencoded' : 'text/plain; charset=utf-8',
    encode: (answer) => pairs.text(write(answer, null, answer.echo.message, '')),
    encodeError: (error, code) => {
      const status = pairs.pair('', 'status', 0) + pairs.pair('', 'returnCode', code)
      return pairs.text(status + pairs.pair('', 'desc', malformedText(error)))
    },
  }
}

/** Pairs of some nodes, a separator before each; `prefix` is of the list that they are in. */
type Write = (
  answer: Answer,
  service: ServiceOutcome | null,
  entry: Message,
  prefix: string,
) => string

function writerOf(nodes: readonly ResponseNode[], group: string, pairs: Pairs): Write {
  const writers = nodes.map((node) => nodeWriter(node, group, pairs))
  return (answer, service, entry, prefix) => {
    let text = ''
    for (const write of writers) text += write(answer, service, entry, prefix)
    return text
  }
}

function nodeWriter(node: ResponseNode, group: string, pairs: Pairs): Write {
  const name = group + pairs.escape(node.name)
  if (node.kind === 'group') return writerOf(node.children, `${name}.`, pairs)
  if (node.kind === 'services') {
    const write = writerOf(node.children, '', pairs)
    return (answer, _service, _entry, prefix) => {
      const { services } = answer.outcome
      let text = ''
      for (let index = 0; index < services.length; index += 1) {
        const entry = answer.echo.entries[index] ?? answer.echo.message
        text += write(answer, services[index] ?? null, entry, `${prefix}${name}.${index}.`)
      }
      return text
    }
  }
  const { read } = node
  return (answer, service, entry, prefix) => {
    const value = read(answer, service, entry)
    return value === undefined ? '' : pairs.pair(prefix, name, value)
  }
}

/** How pairs look in one syntax. */
class Pairs {
  readonly escape: (text: string) => string
  readonly #pairSeparator: string
  readonly #valueSeparator: string

  constructor(syntax: KeyValueSyntax) {
    this.#pairSeparator = syntax.pairSeparator
    this.#valueSeparator = syntax.valueSeparator
    this.escape = escapeOf(syntax)
  }

  /** The answer, of pairs with a separator before each. */
  text(pairs: string): string {
    return pairs.slice(this.#pairSeparator.length)
  }

  /** The pairs of a value; of a list or record, one for each text in it. `name` is escaped. */
  pair(prefix: string, name: string, value: AnswerValue): string {
    if (typeof value === 'object' && !(value instanceof NumberText)) {
      return this.#members(`${prefix}${name}.`, value)
    }
    const start = this.#pairSeparator + prefix + name + this.#valueSeparator
    if (typeof value === 'string') return start + this.escape(value)
    return typeof value === 'object' ? start + value.digits : start + value
  }

  #members(prefix: string, value: readonly AnswerValue[] | Record<string, AnswerValue>): string {
    let text = ''
    for (const name of Object.keys(value)) {
      const member = (value as Record<string, AnswerValue>)[name]
      if (member !== undefined) text += this.pair(prefix, this.escape(name), member)
    }
    return text
  }
}

/** How a text is written so that it is read as it was; `none` loses what would end it. */
function escapeOf({ quoting, pairSeparator, valueSeparator }: KeyValueSyntax) {
  if (quoting === 'none') return withoutSeparator(pairSeparator)
  const separators = pairSeparator + valueSeparator
  if (quoting === 'quotes') return quoted(separators)
  const codes = percentCodes(separators)
  return (text: string) => encodePercent(text, codes)
}

function quoted(separators: string) {
  const isKept = new Uint8Array(65_536).fill(1)
  for (const char of `${separators}"\r\n`) isKept[char.charCodeAt(0)] = 0
  return (text: string) => {
    let at = 0
    while (at < text.length && isKept[text.charCodeAt(at)] === 1) at += 1
    return at === text.length ? text : `"${text.replaceAll('"', '""')}"`
  }
}

/** Puts a blank in the place of what ends a pair: there is no way to write that. */
function withoutSeparator(separator: string) {
  const filler = [' ', '_', '-', '.'].find((char) => !separator.includes(char)) ?? '?'
  const parts = new Set([...separator, '\r', '\n'])
  return (text: string) => {
    // The separator that follows must be the first one, also where the text ends like it.
    const isSafe = (text + separator).indexOf(separator) === text.length && !NEWLINE.test(text)
    if (isSafe) return text
    return Array.from(text, (char) => (parts.has(char) ? filler : char)).join('')
  }
}

const NEWLINE = /[\r\n]/
