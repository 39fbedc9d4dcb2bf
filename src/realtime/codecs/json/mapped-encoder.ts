import { reasons, type ServiceOutcome } from '../../../domain/charge-outcome.ts'
import type {
  AnswerReader,
  AnswerSource,
  AnswerTest,
  AnswerValue,
  Message,
  ResponseNode,
} from '../../../file-types/file-type.ts'
import type { AnswerEncoder } from '../encoder.ts'
import { quote } from './text.ts'
import { encodeValue } from './value.ts'

/** The JSON value of a node; empty if the node is left out. */
type Writer = (answer: AnswerSource, service: ServiceOutcome | null, entry: Message) => string

/** Consecutive members with the same condition. */
interface Run {
  readonly needs: AnswerTest | null
  readonly members: JsonMember[]
}

/** Encodes answers as JSON objects, with members in the order of the nodes. */
export function createJsonEncoder(nodes: readonly ResponseNode[]): AnswerEncoder {
  const write = objectWriter(nodes)
  return {
    encode: (answer) => write(answer, null, answer.echo.message) || '{}',
    encodeError({ field, why }, code) {
      const desc = quote(`${reasons.malformed.text}: ${field} ${why}`)
      return `{"status":0,"returnCode":${code},"desc":${desc}}`
    },
  }
}

/**
 * A member of an object. Its text is cached, because most values equal those of the previous
 * answer.
 */
class JsonMember {
  /** Reader of a plain value; null if `write` encodes the node. */
  readonly read: AnswerReader | null
  readonly write: Writer
  /** Name and colon as the first member of an object. */
  readonly #first: string
  /** Name and colon of a later member, with a leading comma. */
  readonly #next: string
  #lastValue: AnswerValue | undefined = undefined
  #isLastFirst = false
  #lastText = ''

  constructor(name: string, read: AnswerReader | null, write: Writer) {
    this.read = read
    this.write = write
    this.#first = `{${quote(name)}:`
    this.#next = `,${quote(name)}:`
  }

  named(json: string, isFirst: boolean): string {
    return (isFirst ? this.#first : this.#next) + json
  }

  text(value: AnswerValue, isFirst: boolean): string {
    if (value === this.#lastValue && isFirst === this.#isLastFirst) return this.#lastText
    const text = this.named(encodeValue(value), isFirst)
    if (typeof value === 'object') return text
    this.#lastValue = value
    this.#isLastFirst = isFirst
    this.#lastText = text
    return text
  }
}

function objectWriter(nodes: readonly ResponseNode[]): Writer {
  const runs = runsOf(nodes)
  return (answer, service, entry) => {
    let text = ''
    for (let at = 0; at < runs.length; at += 1) {
      const { needs, members } = runs[at] as Run
      if (needs !== null && !needs(answer, service)) continue
      for (let index = 0; index < members.length; index += 1) {
        const member = members[index] as JsonMember
        const { read } = member
        if (read === null) {
          const json = member.write(answer, service, entry)
          if (json !== '') text += member.named(json, text === '')
          continue
        }
        const value = read(answer, service, entry)
        if (value !== undefined) text += member.text(value, text === '')
      }
    }
    return text === '' ? '' : `${text}}`
  }
}

function runsOf(nodes: readonly ResponseNode[]): readonly Run[] {
  const runs: Run[] = []
  for (const node of nodes) {
    const needs = node.kind === 'value' ? (node.needs ?? null) : null
    const member = new JsonMember(
      node.name,
      node.kind === 'value' ? node.read : null,
      writerOf(node),
    )
    const last = runs.at(-1)
    if (last?.needs === needs) last.members.push(member)
    else runs.push({ needs, members: [member] })
  }
  return runs
}

function writerOf(node: ResponseNode): Writer {
  switch (node.kind) {
    case 'value':
      return nothing
    case 'group':
      return objectWriter(node.children)
    case 'services':
      return servicesWriter(objectWriter(node.children))
  }
}

const nothing: Writer = () => ''

/** Left out if there are no services, as in a failure. */
function servicesWriter(write: Writer): Writer {
  return (answer) => {
    const { echo, outcome } = answer
    let text = ''
    for (const [index, service] of outcome.services.entries()) {
      const member = write(answer, service, echo.entries[index] ?? echo.message) || '{}'
      text += text === '' ? member : `,${member}`
    }
    return text === '' ? '' : `[${text}]`
  }
}
