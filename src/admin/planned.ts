/** Endpoints of a later version. Unauthorised callers do not learn that they are missing. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from '../runtime/log.ts'
import type { RouteAccess } from './auth/access.ts'
import type { Caller } from './auth/caller.ts'
import { errorHandler } from './entities/answer.ts'
import { RequestError } from './entities/errors.ts'
import { readParameters, registerBodies } from './entities/requests/body.ts'
import type { SentParameters } from './entities/requests/raw-parameters.ts'
import { PLANNED_ENDPOINTS } from './permissions/endpoints.ts'

/** Authorises a caller for an action of the action API, or throws. */
export type AdmitAction = (
  request: FastifyRequest,
  sent: SentParameters,
  action: string,
  usual: RouteAccess,
) => Promise<Caller>

export function addPlanned(
  server: FastifyInstance,
  admit: AdmitAction,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    registerBodies(routes)
    routes.setErrorHandler(errorHandler(log))
    for (const { method, path, access } of PLANNED_ENDPOINTS) {
      routes.route({
        method: method === 'GET' ? ['GET', 'POST'] : 'POST',
        url: path,
        config: { access: 'asked' },
        async handler(request, reply) {
          const { sent } = await readParameters(request, reply)
          await admit(request, sent, path.split('/').at(-1) ?? '', access)
          throw new RequestError(404, `${path} is not part of this version`)
        },
      })
    }
  })
}
