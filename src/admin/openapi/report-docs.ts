/** The request and answers of files of reports. */
import { integer, object, ref, text } from '../../catalog/entities/json-schema.ts'
import type { NodeAnswer } from './node-answers.ts'

const FILE = 'GET /api/report/files/:id'

export const REPORT_REQUESTS = {
  [FILE]: {
    parameters: {
      id: text('Id of the job.'),
      expires: text('When the address expires, as `POST /api/report` returned it.'),
      signature: text('Its signature.'),
    },
    example: { id: '5f0c7e1a9b3d4c6e8f7a0b1c', expires: '1781611200000', signature: 'kJ3vX0pQ' },
  },
} as const

const refused = (description: string, code: number, message: string) => ({
  description,
  schema: ref('requestError'),
  example: { status: 0, code, data: { message } },
})

export const REPORT_ANSWERS: Readonly<Record<string, NodeAnswer>> = {
  [FILE]: {
    description: 'The file, as CSV or lines of JSON; an error if the report has failed.',
    schema: text('The file.'),
    type: 'text/csv',
    example: 'Plan,Price\r\nGOLD,12.5\r\n',
    others: {
      '503': 'unavailable',
      '202': {
        description: 'The report is being written: ask again.',
        schema: object('The progress.', {
          status: { type: 'integer', const: 1, description: '1: success.' },
          desc: text('The state.'),
          details: object('The progress.', {
            state: text('`waiting`.'),
            rows: integer('Rows written so far.'),
          }),
        }),
        example: {
          status: 1,
          desc: 'the report is being written',
          details: { state: 'waiting', rows: 20_000 },
        },
      },
      '403': refused('The address is not valid.', 403, 'the address of the report is not valid'),
      '404': refused('The file is on another node.', 404, 'this node does not have the file'),
      '410': refused('The address has expired.', 410, 'the file of the report has expired'),
    },
  },
}
