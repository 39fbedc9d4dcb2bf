/** `GET /api/reports`: the saved reports that the caller may run, and dashboards. */
import { Type } from '@sinclair/typebox'
import * as schema from '../../catalog/entities/json-schema.ts'
import type { ReportDocument } from '../../catalog/entities/report.ts'
import { isObject } from '../../domain/fields.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../../entities/definitions/definition.ts'
import { NOT_DELETED } from '../../entities/revisions.ts'
import { readView } from '../../entities/views.ts'
import { DASHBOARDS } from '../../reports/dashboards.ts'
import { readersOf } from '../../reports/definition.ts'
import { entityNamed } from '../../reports/report-entities.ts'
import { ActionError, NotAllowedError } from '../../requests/errors.ts'
import { type ActionCall, type AnswerOf, action } from './action.ts'
import { param } from './parameters.ts'
import { REPORT_ROW, refuseDefinitions } from './report.ts'

const REPORTS_MAX = 10_000

const ANSWER = {
  status: param.optional(
    schema.either(
      '1, or true with a dashboard.',
      schema.constant(1, 'Reports.'),
      schema.constant(true, 'A dashboard.'),
    ),
  ),
  details: schema.either(
    'Reports by key, or rows of the dashboard.',
    schema.listOf(schema.ref<object>('reports.entity'), 'Reports.'),
    schema.listOf(REPORT_ROW, 'Rows of the dashboard.'),
  ),
} as const

type ReportsAnswer = AnswerOf<typeof ANSWER>

export const reports = action({
  name: 'reports',
  level: ['read', 'write', 'reports'],
  about: 'List saved reports, or show a dashboard',
  isReadByGet: true,
  parameters: Type.Object({
    action: param.optional(
      param.text(`A dashboard instead of the list: ${Object.keys(DASHBOARDS).join(', ')}.`),
    ),
  }),
  answer: ANSWER,
  example: {
    parameters: { action: 'totalRevenue' },
    answer: { status: true, details: [{ billrun_key: '202605', due: 1250.5 }] },
  },
  async run({ action: name = '' }, call) {
    return name === '' ? saved(call) : dashboard(name, call)
  },
})

async function dashboard(name: string, call: ActionCall): Promise<ReportsAnswer> {
  const run = Object.hasOwn(DASHBOARDS, name) ? DASHBOARDS[name] : undefined
  if (run === undefined) {
    throw new ActionError(`Reports controller - cannot find action: ${name.slice(0, 64)}`, {
      path: 'action',
    })
  }
  const bills = DEFINITIONS.get('bills') as CollectionDefinition
  if (!(await mayRead(bills, call))) {
    throw new NotAllowedError('No permission: dashboards show bills, which you may not read')
  }
  const { reports: parts, config, nowMs, signal, catalog } = call
  const details = await run({ catalog, reader: parts.reader, config, nowMs, signal })
  return { status: true, details }
}

export function mayRead(
  definition: CollectionDefinition,
  { permits }: Pick<ActionCall, 'permits'>,
): Promise<boolean> {
  return permits({ collection: definition.name, name: 'get', usual: readersOf(definition) })
}

async function saved(call: ActionCall): Promise<ReportsAnswer> {
  await refuseDefinitions(call)
  const { catalog, nowMs, config } = call
  const now = new Date(nowMs)
  const found = await catalog.reads.reports
    .find({ from: { $lte: now }, to: { $gt: now }, ...NOT_DELETED })
    .sort({ key: 1 })
    .limit(REPORTS_MAX)
    .toArray()
  const visible = new Map<unknown, boolean>()
  const details: object[] = []
  const shape = { timeZone: config.rating.timeZone, dateFields: [] }
  for (const each of found) {
    const entities = reportEntities(each)
    for (const entity of entities) {
      if (!visible.has(entity)) visible.set(entity, await isVisible(entity, call))
    }
    if (entities.every((entity) => visible.get(entity))) details.push(readView(each, shape))
  }
  return { details }
}

/** The entity of a report, and those that its columns and conditions join. */
function reportEntities({ entity, columns = [], conditions = [] }: ReportDocument): unknown[] {
  const named = [...columns, ...conditions].map((part) => isObject(part) && part['entity'])
  return [...new Set([entity, ...named.filter(Boolean)])]
}

/** Whether the caller may read the entity; reports without a usable one show nothing. */
async function isVisible(entity: unknown, call: ActionCall): Promise<boolean> {
  try {
    return await mayRead(entityNamed(entity).definition, call)
  } catch (error) {
    if (error instanceof Error && error.name === 'EntityRuleError') return true
    throw error
  }
}
