import type {
  Answer,
  AnswerReader,
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
  first: string
  /** The same after another. */
  next: string
  write: Writer
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
  const members = nodes.map(memberOf)
  return (answer, service, entry) => {
    let text = ''
    for (const { first, next, write } of members) {
      const value = write(answer, service, entry)
      if (value !== '') text += (text === '' ? first : next) + value
    }
    return text === '' ? '' : `${text}}`
  }
}

function memberOf(node: ResponseNode): Member {
  const name = quote(node.name)
  return { first: `{${name}:`, next: `,${name}:`, write: writerOf(node) }
}

function writerOf(node: ResponseNode): Writer {
  switch (node.kind) {
    case 'value':
      return valueWriter(node.read)
    case 'group':
      return objectWriter(node.children)
    case 'services':
      return servicesWriter(objectWriter(node.children))
  }
}

function valueWriter(read: AnswerReader): Writer {
  return (answer, service, entry) => {
    const value = read(answer, service, entry)
    return value === undefined ? '' : encodeValue(value)
  }
}

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
