/** `releasesessions`: an operator ends open sessions, one after the other. */
import { Type } from '@sinclair/typebox'
import { listOf, object, text } from '../../catalog/entities/json-schema.ts'
import { isObject } from '../../domain/fields.ts'
import {
  askToEnd,
  endNow,
  releaseEntry,
  SessionEndError,
  sessionToEnd,
} from '../../ledger/end-session.ts'
import { ContentionError } from '../../ledger/operations.ts'
import { CorruptValueError } from '../../ledger/owner-packing.ts'
import { sessionView } from '../../ledger/session-view.ts'
import { fieldRule, parameterError } from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { refuseOthers } from './members.ts'
import { param } from './parameters.ts'
import { RELEASED_SESSION, type ReleasedSession } from './session-schemas.ts'

const SESSIONS_MAX = 100
const TEXT_MAX = 1_000
const KNOWN = ['session_id', 'origin'] as const

interface SessionRef {
  readonly session_id: string
  readonly origin: string
}

export const releasesessions = action({
  name: 'releasesessions',
  paths: ['/api/sessions/release'],
  level: 'write',
  about: 'End open sessions: their network elements are asked to, or immediately',
  parameters: Type.Object({
    sessions: param.list(
      object('A session.', { session_id: text('Its id.'), origin: text('Its origin.') }, KNOWN),
      `The sessions, at most ${SESSIONS_MAX}.`,
    ),
    reason: param.text('Why they are ended; kept in the audit record.'),
    now: param.optional(
      param.flag(
        'Ends them in the ledger immediately and returns their reservations; otherwise Diameter ' +
          'network elements are asked to end them.',
      ),
    ),
  }),
  answer: {
    details: listOf(RELEASED_SESSION, 'The sessions, in the order of the call.'),
  },
  example: {
    parameters: {
      sessions: [{ session_id: 'pgw1;1795255200;7', origin: 'diameter:pgw1/gy' }],
      reason: 'The phone was stolen',
    },
    answer: {
      details: [{ session_id: 'pgw1;1795255200;7', origin: 'diameter:pgw1/gy', outcome: 'asked' }],
    },
  },
  async run({ sessions: listed, reason, now = false }, call) {
    if (reason.trim() === '') throw parameterError('reason', 'must not be empty')
    const named = namesIn(listed)
    const details: ReleasedSession[] = []
    for (const one of named) details.push(await release(one, reason, now, call))
    return { details }
  },
})

/** All are checked before one is ended. */
function namesIn(listed: readonly unknown[]): readonly SessionRef[] {
  if (listed.length === 0) throw parameterError('sessions', 'must not be empty')
  if (listed.length > SESSIONS_MAX) {
    throw parameterError('sessions', `has more than ${SESSIONS_MAX} members`)
  }
  return listed.map((each, index) => {
    const path = `sessions.${index}`
    if (!isObject(each)) throw fieldRule(path, 'must be an object')
    refuseOthers(each, KNOWN, path)
    const textAt = (name: (typeof KNOWN)[number]) => {
      const value = each[name]
      if (typeof value === 'string' && value !== '' && value.length <= TEXT_MAX) return value
      throw fieldRule(`${path}.${name}`, `must be a text of 1 to ${TEXT_MAX} characters`)
    }
    return { session_id: textAt('session_id'), origin: textAt('origin') }
  })
}

/** A session that cannot be ended is reported, and the others are still ended. */
async function release(
  named: SessionRef,
  reason: string,
  isImmediate: boolean,
  call: ActionCall,
): Promise<ReleasedSession> {
  const { ledger, audit, actor, nowMs, config } = call
  const { commitAttemptsMax: attemptsMax, replayMs } = config.ledger
  try {
    const found = await sessionToEnd(ledger, named.session_id, named.origin)
    const ended = isImmediate
      ? await endNow(ledger, found, { attemptsMax, replayMs }, nowMs)
      : await askToEnd(ledger, found)
    await audit.record(actor, nowMs, { ...releaseEntry(found, isImmediate), new: { reason } })
    if (ended === undefined) return { ...named, outcome: 'asked' }
    const { isPublished } = ended
    const { services } = sessionView(ended.session)
    return { ...named, outcome: 'ended', nodes_notified: isPublished, released: services }
  } catch (error) {
    if (
      error instanceof SessionEndError ||
      error instanceof ContentionError ||
      error instanceof CorruptValueError
    ) {
      return { ...named, outcome: 'refused', why: error.message }
    }
    throw error
  }
}
