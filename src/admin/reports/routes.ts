/** The files of reports: signed addresses that need no login. */
import type { FastifyInstance } from 'fastify'
import { ObjectId } from '../../catalog/collections.ts'
import { closed, integer, text } from '../../catalog/entities/json-schema.ts'
import { readJob } from '../../jobs/jobs.ts'
import { FILES_PATH, type FileRequest, fileOf } from '../../reports/job.ts'
import type { ReportParts } from '../../reports/parts.ts'
import { MEDIA_TYPES } from '../../reports/texts.ts'
import { ActionError, RequestError } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { actionErrorHandler } from '../actions/errors.ts'
import { DONE } from '../http/answer-schema.ts'
import { addEndpoints, get, refusal } from '../http/endpoint.ts'

/** Seconds after which a client asks again for a file that is being written. */
const RETRY_SECONDS = 5

type FileParts = ReportParts & { readonly clock: Clock }

const NOT_HERE = 'this node does not have the file'
const WRITING = 'the report is being written'

const file = get(`${FILES_PATH}/:id`, {
  access: 'public',
  about: 'Get the file of a report by its signed address',
  request: {
    parameters: {
      id: text('Id of the job.'),
      expires: text('When the address expires, as `POST /api/report` returned it.'),
      signature: text('Its signature.'),
    },
    example: { id: '5f0c7e1a9b3d4c6e8f7a0b1c', expires: '1781611200000', signature: 'kJ3vX0pQ' },
  },
  answer: {
    description: 'The file, as CSV or lines of JSON; an error if the report has failed.',
    schema: text('The file.'),
    type: 'text/csv',
    example: 'Plan,Price\r\nGOLD,12.5\r\n',
    types: {
      'application/x-ndjson': { schema: text('The file.'), example: '{"Plan":"GOLD"}\n' },
    },
    refused: ['actionError'],
    others: {
      '202': {
        description: 'The report is being written: ask again.',
        schema: closed('The progress.', {
          status: DONE,
          desc: text('The state.'),
          details: closed('The progress.', {
            state: text('`waiting`.'),
            rows: integer('Rows written so far.'),
          }),
        }),
        example: { status: 1, desc: WRITING, details: { state: 'waiting', rows: 20_000 } },
      },
      '403': refusal('The address is not valid.', 403, 'the address of the report is not valid'),
      '404': refusal('The file is on another node.', 404, NOT_HERE),
      '410': refusal('The address has expired.', 410, 'the file of the report has expired'),
      '503': 'unavailable',
    },
  },
  async run({ catalog, files, clock }: FileParts, request, reply) {
    const { id } = request.params as { id: string }
    const { expires = '', signature = '' } = request.query as Record<string, unknown>
    const asked: FileRequest = { id, expires: String(expires), signature: String(signature) }
    const isId = /^[\da-f]{24}$/.test(id)
    const job = isId ? await readJob({ catalog }, new ObjectId(id)) : null
    const found = fileOf(job, asked, clock.nowMs())
    reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
    if (found.state === 'failed') throw new ActionError(found.error, 'refused')
    if (found.state === 'waiting') {
      const { state, rows } = found
      reply.code(202).header('retry-after', RETRY_SECONDS)
      return reply.send({ status: 1, desc: WRITING, details: { state, rows } })
    }
    const sent = await files.read(found.name)
    if (sent === null) throw new RequestError(404, NOT_HERE)
    return reply
      .type(MEDIA_TYPES[found.name.format])
      .header('content-length', sent.bytes)
      .header('content-disposition', `attachment; filename="${found.fileName}"`)
      .header('content-security-policy', 'sandbox')
      .header('x-content-type-options', 'nosniff')
      .send(sent.stream)
  },
})

export const REPORT_ENDPOINTS = [file]

export function addReportRoutes(
  server: FastifyInstance,
  parts: FileParts,
  log: Pick<Logger, 'error'>,
): void {
  server.register(async (routes) => {
    routes.setErrorHandler(actionErrorHandler(log))
    addEndpoints(routes, REPORT_ENDPOINTS, parts)
  })
}
