/** Saved messages of a file type with what the check has said of them: its regression cases. */
import type { Config } from '../config/schema.ts'
import { arrayAt, FieldError, type Fields, isObject, objectAt, textAt } from '../domain/fields.ts'
import type { CheckFileType, CheckReport } from './check-report.ts'

export interface FileTypeSample {
  readonly name: string
  readonly body: Buffer
  readonly expect: Fields
}

/** The result of a check, without values that depend on the time or the release. */
export interface CheckExpectation {
  /** The charge request; absent if the message is wrong. */
  readonly request?: Fields
  readonly error?: { readonly field: string; readonly why: string }
  /** Texts by kind: `answer if granted`, `answer if denied`; `answer` to a wrong message. */
  readonly answers: Readonly<Record<string, string>>
}

export interface SampleDifference {
  /** Dotted path in the expectation. */
  readonly field: string
  /** Null where nothing is expected, or where there is nothing. */
  readonly expected: unknown
  readonly actual: unknown
}

export interface SampleResult {
  readonly name: string
  readonly ok: boolean
  readonly differences: readonly SampleDifference[]
}

export const SAMPLES_MAX = 100
/** Limit of all samples of a file type, as JSON. */
export const SAMPLES_CHARS_MAX = 262_144
export const SAMPLE_BYTES_MAX = 65_536
const NAME_CHARS_MAX = 100
const SAMPLE_KEYS = ['name', 'message', 'message_base64', 'expect']
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** The clock of samples: messages without a time, and answers with one, are always the same. */
const NOW_MS = Date.UTC(2026, 0, 1)
/** Fields of a request that a release may choose otherwise; the time is there in another form. */
const UNSTABLE = ['origin', 'rules', 'stamp', 'eventTimeMs']

/** The samples of a document. Throws `FieldError` with a path below `path`. */
export function samplesIn(document: unknown, path: string): readonly FileTypeSample[] {
  const { samples = [] } = isObject(document) ? document : {}
  const list = arrayAt(samples, path)
  if (list.length > SAMPLES_MAX) {
    throw new FieldError(path, `has more than ${SAMPLES_MAX} members`)
  }
  if (JSON.stringify(list).length > SAMPLES_CHARS_MAX) {
    throw new FieldError(path, `has more than ${SAMPLES_CHARS_MAX} characters as JSON`)
  }
  const names = new Set<string>()
  return list.map((each, index) => {
    const sample = sampleAt(each, `${path}.${index}`)
    if (names.has(sample.name)) {
      throw new FieldError(`${path}.${index}.name`, `'${sample.name}' occurs twice`)
    }
    names.add(sample.name)
    return sample
  })
}

function sampleAt(value: unknown, path: string): FileTypeSample {
  const fields = objectAt(value, path, SAMPLE_KEYS)
  const name = textAt(fields['name'], `${path}.name`)
  if (name.trim() === '' || name.length > NAME_CHARS_MAX) {
    throw new FieldError(`${path}.name`, `must have 1 to ${NAME_CHARS_MAX} characters`)
  }
  const { message, message_base64: base64 } = fields
  if ((message === undefined) === (base64 === undefined)) {
    throw new FieldError(path, 'needs one of message and message_base64')
  }
  const key = message === undefined ? 'message_base64' : 'message'
  const text = textAt(fields[key], `${path}.${key}`)
  if (key === 'message_base64' && !BASE64.test(text)) {
    throw new FieldError(`${path}.${key}`, 'must be base 64')
  }
  const body = Buffer.from(text, key === 'message' ? 'utf8' : 'base64')
  if (body.length > SAMPLE_BYTES_MAX) {
    throw new FieldError(`${path}.${key}`, `has more than ${SAMPLE_BYTES_MAX} bytes`)
  }
  return { name, body, expect: objectAt(fields['expect'], `${path}.expect`) }
}

/**
 * The expectation of a sample of this message; null if the document cannot be used, or describes
 * files.
 */
export async function expectationOf(
  check: CheckFileType,
  { document, body }: { readonly document: unknown; readonly body: Buffer },
  config: Config,
): Promise<CheckExpectation | null> {
  const { steps } = await check(document, body, config, { nowMs: NOW_MS })
  return isOfMessage(steps) ? expectationIn(steps) : null
}

/** A message has a request, or an error; records in files have many. */
function isOfMessage(steps: CheckReport['steps']): boolean {
  return steps.some(({ step, ok }) => step === 'request' || (step === 'message' && !ok))
}

function expectationIn(steps: CheckReport['steps']): CheckExpectation {
  const wrong = steps.find(({ step, ok }) => !ok && (step === 'request' || step === 'message'))
  const { field, why } = (wrong?.result ?? {}) as { field: string; why: string }
  const request = steps.find(({ step, ok }) => ok && step === 'request')
  const answers = steps.filter(({ step }) => step.startsWith('answer'))
  return {
    ...(wrong !== undefined && { error: { field, why } }),
    ...(request !== undefined && { request: stable(request.result) }),
    answers: Object.fromEntries(answers.map(({ step, result }) => [step, String(result)])),
  }
}

function stable(request: unknown): Fields {
  if (!isObject(request)) return {}
  return Object.fromEntries(Object.entries(request).filter(([name]) => !UNSTABLE.includes(name)))
}

const NO_MESSAGE: CheckExpectation = { answers: {} }

/** Checks all samples by a document that can be used. */
export async function runSamples(
  check: CheckFileType,
  {
    document,
    samples,
  }: { readonly document: unknown; readonly samples: readonly FileTypeSample[] },
  config: Config,
): Promise<readonly SampleResult[]> {
  const results: SampleResult[] = []
  const bare = isObject(document) ? { ...document, samples: [] } : document
  for (const { name, body, expect } of samples) {
    const actual = (await expectationOf(check, { document: bare, body }, config)) ?? NO_MESSAGE
    const differences = differencesOf(expect, actual)
    results.push({ name, ok: differences.length === 0, differences })
  }
  return results
}

const ALWAYS = ['request', 'error']

/**
 * The fields that are expected and differ, and a request or an error that is not expected. Other
 * fields that are not expected are not compared: a release may add them.
 */
function differencesOf(expect: Fields, actual: CheckExpectation): SampleDifference[] {
  const absent = Object.fromEntries(ALWAYS.map((name) => [name, undefined]))
  return leaves({ ...absent, ...expect }, actual, '')
}

function leaves(expected: unknown, actual: unknown, field: string): SampleDifference[] {
  const isList = Array.isArray(expected)
  if (isTree(expected) && isTree(actual) && isList === Array.isArray(actual)) {
    // A list is compared with all its members.
    const names = new Set([...Object.keys(expected), ...(isList ? Object.keys(actual) : [])])
    return [...names].flatMap((name) =>
      leaves(expected[name], actual[name], field === '' ? name : `${field}.${name}`),
    )
  }
  if (expected === actual || isSameNumber(expected, actual)) return []
  return [{ field, expected: expected ?? null, actual: actual ?? null }]
}

/** Clients that keep numbers exactly send decimals as text. */
function isSameNumber(expected: unknown, actual: unknown): boolean {
  return typeof actual === 'number' && typeof expected === 'string' && Number(expected) === actual
}

function isTree(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
