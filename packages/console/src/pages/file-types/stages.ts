/** The steps of the API in four stages: parse, map, rate, answer. */

export interface CheckStep {
  readonly step: string
  readonly ok: boolean
  readonly result: unknown
}

export const STAGES = ['parse', 'map', 'rate', 'answer'] as const
export type StageName = (typeof STAGES)[number]
export type StageState = 'done' | 'failed' | 'notReached'

export interface Stage {
  readonly name: StageName
  readonly state: StageState
  readonly steps: readonly CheckStep[]
}

/** Names of the API. */
export const FOUND = 'found subscriber'
export const PRICE = 'price'

export function stagesOf(steps: readonly CheckStep[]): readonly Stage[] {
  return STAGES.map((name) => {
    const own = steps.filter(({ step }) => stageOf(step) === name)
    return { name, state: stateOf(own), steps: own }
  })
}

function stageOf(step: string): StageName {
  if (step === 'document' || step === 'message' || step.startsWith('warning')) return 'parse'
  if (step === FOUND || step === PRICE) return 'rate'
  return step === 'answer' || step.startsWith('answer ') ? 'answer' : 'map'
}

function stateOf(steps: readonly CheckStep[]): StageState {
  if (steps.some(({ ok }) => !ok)) return 'failed'
  return steps.length === 0 || steps.every(isNotApplied) ? 'notReached' : 'done'
}

/** An update or release is rated with its session: the result says so. */
function isNotApplied({ step, result }: CheckStep): boolean {
  return step === FOUND && typeof result === 'string'
}

export interface Problem {
  /** Field of the message or path in the document; empty if it concerns no field. */
  readonly field: string
  readonly why: string
  /** Code of the answer; null without a code. */
  readonly code: string | null
  /** The place of the first wrong byte; null if no byte is wrong. */
  readonly offset: number | null
}

/** The problem of a step; null if it succeeded, or repeats the problem of a later one. */
export function problemOf({ ok, result }: CheckStep): Problem | null {
  if (ok || !isRecord(result)) return null
  const { field, path, why, reason, offset, code } = result
  const text = why ?? reason
  if (text === undefined) return null
  return {
    field: String(field ?? path ?? ''),
    why: String(text),
    code: code === undefined ? null : String(code),
    offset: typeof offset === 'number' ? offset : null,
  }
}

export interface FieldRow {
  /** Dotted path; empty if the result is a single value. */
  readonly field: string
  /** Null if it is absent in the message. */
  readonly value: string | null
}

export interface FieldRows {
  readonly rows: readonly FieldRow[]
  /** Rows that are left out. */
  readonly more: number
}

/** A result as rows; at most `max`. */
export function fieldRows(result: unknown, max: number): FieldRows {
  const rows: FieldRow[] = []
  let count = 0
  const add = (field: string, value: unknown) => {
    if (isBranch(value)) {
      for (const [name, member] of Object.entries(value)) {
        add(field === '' ? name : `${field}.${name}`, member)
      }
      return
    }
    count += 1
    if (count <= max) rows.push({ field, value: value === null ? null : textOf(value) })
  }
  add('', result)
  return { rows, more: Math.max(0, count - max) }
}

function isBranch(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
