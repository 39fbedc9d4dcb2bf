/** The aggregation pipeline of a report. Columns are named by their positions: `c0`, `c1`, … */
import type { Fields } from '../domain/fields.ts'
import { type ConditionContext, conditionTest } from './conditions.ts'
import type { GroupOp, Report, ReportColumn } from './definition.ts'
import { documentsFilter, type ReportEntity } from './report-entities.ts'

export interface PipelineOptions extends ConditionContext {
  readonly skip: number
  /** Rows at most. */
  readonly limit: number
}

/** Throws `EntityRuleError` for values that conditions cannot compare with. */
export function pipelineOf(report: Report, options: PipelineOptions): Fields[] {
  return [
    ...documentStages(report, options),
    ...(report.isGrouped ? groupStages(report, options) : simpleStages(report, options)),
  ]
}

/** The documents of the report, with those of joined entities. */
function documentStages(report: Report, options: PipelineOptions): Fields[] {
  const { entity, joined } = report
  const own = { ...filterOf(report, entity, options) }
  const joins = joined.flatMap((other): Fields[] => {
    const as = nameOf(other)
    const { local, foreign } = entity.joins[other.name] as { local: string; foreign: string }
    const isNeeded = report.conditions.some((condition) => condition.entity === other.name)
    const $lookup = {
      from: other.definition.store,
      localField: local,
      foreignField: foreign,
      as,
      pipeline: [
        { $match: filterOf(report, other, options) },
        { $project: { _id: 1, ...projected(report, other) } },
      ],
    }
    return [{ $lookup }, { $unwind: { path: `$${as}`, preserveNullAndEmptyArrays: !isNeeded } }]
  })
  return [...(Object.keys(own).length > 0 ? [{ $match: own }] : []), ...joins]
}

/** Top-level fields of a joined entity that the report shows. */
function projected({ columns }: Report, { name }: ReportEntity): Fields {
  const own = columns.filter(({ entity }) => entity === name)
  const tops = own.map(({ field }) => field.path.split('.', 1)[0] as string)
  return Object.fromEntries(tops.map((top) => [top, 1]))
}

function filterOf({ conditions }: Report, entity: ReportEntity, options: PipelineOptions): Fields {
  const own = conditions.filter((condition) => condition.entity === entity.name)
  const hasOwnDates = own.some(({ field }) => field.path === 'from' || field.path === 'to')
  const usual = documentsFilter(entity, options.nowMs, hasOwnDates)
  const tests = own.map((condition) => ({
    [condition.field.path]: conditionTest(condition, options),
  }))
  return tests.length === 0 ? usual : { ...usual, $and: tests }
}

function nameOf({ name }: ReportEntity): string {
  return `joined_${name}`
}

function expressionOf({ entity, field }: ReportColumn, report: Report): string {
  const isOwn = entity === report.entity.name
  return isOwn ? `$${field.path}` : `$joined_${entity}.${field.path}`
}

function simpleStages(report: Report, options: PipelineOptions): Fields[] {
  const { columns, sorts } = report
  const order = sorts.map(({ column, path, direction }) => {
    const sorted = column === null ? null : columns[column]
    const name =
      sorted === null || sorted === undefined ? path : expressionOf(sorted, report).slice(1)
    return [name, direction] as const
  })
  const shown = columns.map((column, index) => [`c${index}`, expressionOf(column, report)] as const)
  return [
    ...(order.length > 0 ? [{ $sort: Object.fromEntries(order) }] : []),
    ...pageStages(options),
    { $project: { _id: 0, ...Object.fromEntries(shown) } },
  ]
}

/** The limit comes first, so that a sort keeps no more rows. */
function pageStages({ skip, limit }: PipelineOptions): Fields[] {
  return [{ $limit: skip + limit }, ...(skip > 0 ? [{ $skip: skip }] : [])]
}

function groupStages(report: Report, options: PipelineOptions): Fields[] {
  const { columns, sorts } = report
  const keys = columns.flatMap((column, index) => {
    return column.op === 'group'
      ? [[`c${index}`, groupKeyOf(column, report, options)] as const]
      : []
  })
  const values = columns.flatMap((column, index) => {
    const { op } = column
    if (op === null || op === 'group') return []
    return [[`c${index}`, accumulatorOf(op, expressionOf(column, report))] as const]
  })
  const order = sorts.map(({ column, direction }) => {
    const isKey = columns[column ?? 0]?.op === 'group'
    return [isKey ? `_id.c${column}` : `c${column}`, direction] as const
  })
  const $group = {
    _id: keys.length === 0 ? null : Object.fromEntries(keys),
    ...Object.fromEntries(values),
  }
  return [
    { $group },
    ...(order.length > 0 ? [{ $sort: Object.fromEntries(order) }] : []),
    ...pageStages(options),
  ]
}

/** A date with a format is grouped by what the format shows. Absent values are one group. */
function groupKeyOf(column: ReportColumn, report: Report, { timeZone }: PipelineOptions): unknown {
  const value = expressionOf(column, report)
  const format = groupedDate(column)
  if (format === null) return { $ifNull: [value, null] }
  const text = { $dateToString: { date: value, format, timezone: timeZone } }
  return { $cond: [{ $eq: [{ $type: value }, 'date'] }, text, null] }
}

/** Format of `$dateToString` by which a column is grouped; null for other columns. */
export function groupedDate({ op, formats }: ReportColumn): string | null {
  return op === 'group' ? (formats[0]?.date?.grouped ?? null) : null
}

function accumulatorOf(op: Exclude<GroupOp, 'group'>, value: string): Fields {
  switch (op) {
    case 'count':
      return { $sum: 1 }
    case 'sum':
    case 'avg':
      // Stored money may be binary; its decimals are summed exactly.
      return {
        [`$${op}`]: { $convert: { input: value, to: 'decimal', onError: null, onNull: null } },
      }
    default:
      return { [`$${op}`]: value }
  }
}
