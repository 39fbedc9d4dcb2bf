/** The files of reports: signed addresses that need no login. */
import type { FastifyInstance } from 'fastify'
import { ObjectId } from '../../catalog/collections.ts'
import { readJob } from '../../jobs/jobs.ts'
import { type FileRequest, fileOf } from '../../reports/job.ts'
import type { ReportParts } from '../../reports/parts.ts'
import { MEDIA_TYPES } from '../../reports/texts.ts'
import { ActionError, RequestError } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { actionErrorHandler } from '../actions/errors.ts'
import { REPORT_ENDPOINTS } from '../permissions/endpoints.ts'

/** Seconds after which a client asks again for a file that is being written. */
const RETRY_SECONDS = 5

export function addReportRoutes(
  server: FastifyInstance,
  { catalog, files, clock }: ReportParts & { clock: Clock },
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    routes.setErrorHandler(actionErrorHandler(log))
    routes.route<{ Params: { id: string }; Querystring: Record<string, unknown> }>({
      method: 'GET',
      url: REPORT_ENDPOINTS.file.path,
      config: { access: REPORT_ENDPOINTS.file.access },
      async handler({ params, query }, reply) {
        const { id } = params
        const { expires = '', signature = '' } = query
        const request: FileRequest = { id, expires: String(expires), signature: String(signature) }
        const isId = /^[\da-f]{24}$/.test(id)
        const job = isId ? await readJob({ catalog }, new ObjectId(id)) : null
        const found = fileOf(job, request, clock.nowMs())
        reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
        if (found.state === 'failed') throw new ActionError(found.error)
        if (found.state === 'waiting') {
          const { state, rows } = found
          reply.code(202).header('retry-after', RETRY_SECONDS)
          return { status: 1, desc: 'the report is being written', details: { state, rows } }
        }
        const file = await files.read(found.name)
        if (file === null) throw new RequestError(404, 'this node does not have the file')
        return reply
          .type(MEDIA_TYPES[found.name.format])
          .header('content-length', file.bytes)
          .header('content-disposition', `attachment; filename="${found.fileName}"`)
          .header('content-security-policy', 'sandbox')
          .header('x-content-type-options', 'nosniff')
          .send(file.stream)
      },
    })
  })
}
