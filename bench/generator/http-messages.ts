/** HTTP requests of a session, and parsing of their answers. */
import { FIRST_SID } from '../../test/support/product/population.ts'
import { type Fate, type SessionRing, UPDATES } from './session-ring.ts'
import { answerNumber } from './tally.ts'

const MIB = 1024 * 1024
/** Bytes requested by a session, and reported as used from each grant. */
export const REQUESTED = 10 * MIB
export const USED = 7 * MIB

export interface HttpDialect {
  path: string
  contentType: string
  /** The text before the return code in an answer. */
  codeMark: string
  body: (ring: SessionRing, session: number, firstSubscriber: number, run: string) => string
}

export const json: HttpDialect = {
  path: '/realtime',
  contentType: 'application/json',
  codeMark: '"returnCode":',
  body(ring, session, firstSubscriber, run) {
    const step = ring.step[session] ?? 0
    const sid = FIRST_SID + firstSubscriber + (ring.subscriber[session] ?? 0)
    const id = `"session_id":"${run}-${session}-${ring.generation[session]}","request_num":${step}`
    const volumes = `"usaget":"data","rating_group":10,"usagev":${REQUESTED}`
    if (step === 0) return `{"record_type":"start_request",${id},"sid":${sid},${volumes}}`
    const kind = step <= UPDATES ? 'update' : 'release'
    const used = `"used_usagev":${USED}`
    return `{"record_type":"${kind}_request",${id},"sid":${sid},${volumes},${used}}`
  },
}

export const keyValue: HttpDialect = {
  path: '/realtime/keyvalue',
  contentType: 'application/x-www-form-urlencoded',
  codeMark: 'returnCode=',
  body(ring, session, firstSubscriber, run) {
    const step = ring.step[session] ?? 0
    const sid = FIRST_SID + firstSubscriber + (ring.subscriber[session] ?? 0)
    const id = `session_id=${run}-${session}-${ring.generation[session]}&request_num=${step}`
    const volumes = `usaget=data&rating_group=10&usagev=${REQUESTED}`
    if (step === 0) return `record_type=start_request&${id}&sid=${sid}&${volumes}`
    const kind = step <= UPDATES ? 'update' : 'release'
    return `record_type=${kind}_request&${id}&sid=${sid}&${volumes}&used_usagev=${USED}`
  },
}

/** Length of the complete answer that begins with this text; 0 if its head is incomplete. */
export function answerLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return 0
  // Header names are case-insensitive, but this part is always in lower case.
  const at = text.indexOf('ength: ')
  return headEnd + 4 + (at < 0 ? 0 : wholeAt(text, at + 7))
}

/** Status and return code of an answer as one number. */
export function readAnswer(text: string, codeMark: string): number {
  const at = text.indexOf(codeMark)
  return answerNumber(wholeAt(text, 9), at < 0 ? 0 : wholeAt(text, at + codeMark.length))
}

const GRANTED = answerNumber(200, 1)
const OVERLOADED = answerNumber(503, -90)
/** Answers of the benchmark's echo, and of an HTTP server before it reads a request. */
const BUSY = answerNumber(503, 0)

export function fateOf(answer: number): Fate {
  if (answer === GRANTED) return 'admitted'
  return answer === OVERLOADED || answer === BUSY ? 'refused' : 'failed'
}

function wholeAt(text: string, from: number): number {
  const isNegative = text.charCodeAt(from) === 45
  let value = 0
  for (let at = isNegative ? from + 1 : from; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
  }
  return isNegative ? -value : value
}
