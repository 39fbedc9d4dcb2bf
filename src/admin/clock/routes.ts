/** `/api/clock`: shows the clock of the installation, and moves it forward. */
import type { FastifyInstance } from 'fastify'
import { text } from '../../catalog/entities/json-schema.ts'
import { parseInstant } from '../../domain/time.ts'
import { ADMIN, actorOf } from '../../identity/caller.ts'
import { fieldRule } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from '../http/answer.ts'
import { succeeded } from '../http/answer-schema.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import { ADMITTED, addEndpoints, BODY, get, post, refuseOtherMethods } from '../http/endpoint.ts'
import type { Admit } from '../settings/routes.ts'
import { CLOCK_ANSWER, MOVED_ANSWER } from './answers.ts'
import type { ClockMover } from './move.ts'

export interface ClockRoutes {
  readonly mover: ClockMover
  readonly admit: Admit
  readonly log: Pick<Logger, 'error'>
  /** Times without an offset are in this zone. */
  readonly timeZone: string
}

const PATH = '/api/clock'
const READERS = ['read'] as const
const MOVERS = [ADMIN] as const

const show = get(PATH, {
  access: READERS,
  isAsked: true,
  about: 'Show the time of the installation',
  answer: {
    description: 'The clock.',
    schema: CLOCK_ANSWER,
    example: succeeded({
      now: '2026-01-31T12:00:00.000Z',
      time_zone: 'UTC',
      ahead_ms: -25_833_600_000,
      test: true,
      start: '2026-01-01T00:00:00Z',
    }),
    others: ADMITTED,
  },
  async run({ mover, admit }: ClockRoutes, request, reply) {
    const { ordered } = await readParameters(request, reply)
    await admit(request, ordered, READERS)
    reply.header('cache-control', 'no-store')
    return succeeded(mover.show())
  },
})

const move = post(PATH, {
  access: MOVERS,
  isAsked: true,
  about: 'Move a test clock forward and run what is due',
  request: {
    parameters: { to: text('Time in ISO 8601, not before the present one.') },
    required: ['to'],
    example: { to: '2026-03-01T00:00:00Z' },
  },
  answer: {
    description: 'The clock was moved.',
    schema: MOVED_ANSWER,
    example: {
      input: { to: '2026-03-01T00:00:00Z' },
      ...succeeded({
        from: '2026-01-31T12:00:00.000Z',
        now: '2026-03-01T00:00:01.020Z',
        ran: [
          { job: 'sessions', subject: '', at: '2026-01-31T13:00:00.004Z', counts: { expired: 3 } },
        ],
        runs: { sessions: 1, retention: 29 },
      }),
    },
    refused: ['ruleError', 'permissionError', 'loginError', 'targetError'],
    others: {
      ...ADMITTED,
      ...BODY,
      '403': 'noTestClock',
      '409': 'clockMoving',
      '503': 'unavailable',
    },
  },
  async run({ mover, admit, timeZone }: ClockRoutes, request, reply) {
    const { values, ordered } = await readParameters(request, reply)
    const caller = await admit(request, ordered, MOVERS)
    reply.header('cache-control', 'no-store')
    const to = toIn(values, timeZone)
    const details = await mover.move(to.atMs, actorOf(caller))
    return succeeded(details, { input: { to: to.text } })
  },
})

export const CLOCK_ENDPOINTS = [show, move]

export function addClockRoutes(server: FastifyInstance, deps: ClockRoutes): void {
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(deps.log))
    addEndpoints(routes, CLOCK_ENDPOINTS, deps)
    refuseOtherMethods(routes, move, 'to move')
  })
}

function toIn(values: RawParameters, timeZone: string): { text: string; atMs: number } {
  for (const name of values.keys()) {
    if (name !== 'to') throw fieldRule(name.slice(0, 64), 'is not a parameter of clock', 'unknown')
  }
  const to = values.get('to')
  if (to === undefined) throw fieldRule('to', 'is missing', 'missing')
  const atMs = typeof to === 'string' ? parseInstant(to, timeZone) : null
  if (typeof to !== 'string' || atMs === null) {
    throw fieldRule('to', 'must be a time in ISO 8601, as in 2026-01-31T12:00:00Z')
  }
  return { text: to, atMs }
}
