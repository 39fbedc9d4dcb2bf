import type {
  Answer,
  AnswerReader,
  AnswerTest,
  Message,
  ResponseNode,
} from '../../catalog/file-types/file-type.ts'
import { reasons, type ServiceOutcome } from '../../domain/charge-outcome.ts'
import type { AnswerEncoder } from './encoder.ts'
import { quote } from './json-text.ts'
import { encodeValue } from './json-value.ts'

/** The JSON value of a node; empty where the node is left out. */
type Writer = (answer: Answer, service: ServiceOutcome | null, entry: Message) => string

interface Member {
  /** Its name as JSON with the colon, as the first of its object. */
  readonly first: string
  /** The same after another. */
  readonly next: string
  /** Of a value; else it is written as a whole. */
  readonly read: AnswerReader | null
  readonly write: Writer
}

/** Members that follow each other and are absent together. */
interface Run {
  readonly needs: AnswerTest | null
  readonly members: Member[]
}

/** Answers as JSON objects, their members in the order of the nodes. */
export function createJsonEncoder(nodes: readonly ResponseNode[]): AnswerEncoder {
  const write = objectWriter(nodes)
  return {
    contentType: 'application/json',
    encode: (answer) => write(answer, null, answer.echo.message) || '{}',
    encodeError({ field, why }, code) {
      const desc = quote(`${reasons.malformed.text}: ${field} ${why}`)
      return `{"status":0,"returnCode":${code},"desc":${desc}}`
    },
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
        const { first, next, read, write } = members[index] as Member
        if (read === null) {
          const value = write(answer, service, entry)
          if (value !== '') text += (text === '' ? first : next) + value
          continue
        }
        const value = read(answer, service, entry)
        if (value !== undefined) text += (text === '' ? first : next) + encodeValue(value)
      }
    }
    return text === '' ? '' : `${text}}`
  }
}

function runsOf(nodes: readonly ResponseNode[]): readonly Run[] {
  const runs: Run[] = []
  for (const node of nodes) {
    const needs = node.kind === 'value' ? (node.needs ?? null) : null
    const last = runs.at(-1)
    if (last?.needs === needs) last.members.push(memberOf(node))
    else runs.push({ needs, members: [memberOf(node)] })
  }
  return runs
}

function memberOf(node: ResponseNode): Member {
  const name = quote(node.name)
  const read = node.kind === 'value' ? node.read : null
  return { first: `{${name}:`, next: `,${name}:`, read, write: writerOf(node) }
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

/** Left out where there is none, as of a failure. */
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
