/** `/api/clock`: shows the clock of the installation, and moves it forward. */
import type { FastifyInstance } from 'fastify'
import { parseInstant } from '../../domain/time.ts'
import { actorOf } from '../../identity/caller.ts'
import { EntityRuleError, RequestError } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { Logger } from '../../runtime/log.ts'
import { errorHandler } from '../http/answer.ts'
import { readParameters, registerBodies } from '../http/body.ts'
import { CLOCK_ENDPOINTS } from '../permissions/endpoints.ts'
import type { Admit } from '../settings/routes.ts'
import type { ClockMover } from './move.ts'

export interface ClockRoutes {
  readonly mover: ClockMover
  readonly admit: Admit
  readonly log: Pick<Logger, 'error'>
  /** Times without an offset are in this zone. */
  readonly timeZone: string
}

const URL = '/api/clock'

export function addClockRoutes(
  server: FastifyInstance,
  { mover, admit, log, timeZone }: ClockRoutes,
): void {
  const { show, move } = CLOCK_ENDPOINTS
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(log))
    const config = { access: 'asked' } as const
    routes.get(URL, { config: { ...config, readsByGet: true } }, async (request, reply) => {
      const { ordered } = await readParameters(request, reply)
      await admit(request, ordered, show.access)
      reply.header('cache-control', 'no-store')
      return { status: 1, desc: 'success', details: mover.show() }
    })
    routes.post(URL, { config }, async (request, reply) => {
      const { values, ordered } = await readParameters(request, reply)
      const caller = await admit(request, ordered, move.access)
      reply.header('cache-control', 'no-store')
      const to = toIn(values, timeZone)
      const details = await mover.move(to.atMs, actorOf(caller))
      return { status: 1, desc: 'success', input: { to: to.text }, details }
    })
    routes.route({
      method: ['PUT', 'PATCH', 'DELETE'],
      url: URL,
      config,
      async handler({ method }, reply) {
        reply.header('allow', 'GET, POST')
        throw new RequestError(405, `${method} is not allowed: use GET to read and POST to move`)
      },
    })
  })
}

function toIn(values: RawParameters, timeZone: string): { text: string; atMs: number } {
  for (const name of values.keys()) {
    if (name !== 'to') throw new EntityRuleError(`${name.slice(0, 64)} is not a parameter of clock`)
  }
  const to = values.get('to')
  if (to === undefined) throw new EntityRuleError('to is missing')
  const atMs = typeof to === 'string' ? parseInstant(to, timeZone) : null
  if (typeof to !== 'string' || atMs === null) {
    throw new EntityRuleError('to must be a time in ISO 8601, as in 2026-01-31T12:00:00Z')
  }
  return { text: to, atMs }
}
