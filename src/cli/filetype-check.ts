/** `tollgate filetype check`: decodes a message by a document, or all samples of a file type. */
import { existsSync } from 'node:fs'
import type { Config } from '../config/schema.ts'
import { isObject } from '../domain/fields.ts'
import type { CheckReport, CheckStep } from '../file-types/check-report.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import { fileTypeOrProblem, nameOfFileType } from '../file-types/installed.ts'
import { expectationOf, runSamples, type SampleResult, samplesIn } from '../file-types/samples.ts'
import { readBytes, readDocument } from './document-file.ts'
import { CommandError, UsageError } from './errors.ts'
import { installedDocument } from './filetype.ts'
import { type OptionValues, requiredText } from './options.ts'
import type { Shell } from './shell.ts'
import type { Tools } from './tools.ts'

/**
 * Returns 1 if the document or the message cannot be used, or if a sample differs. Throws
 * `UsageError` or `CommandError`.
 */
export async function checkFileType(
  shell: Shell,
  source: string,
  options: OptionValues,
  tools: Tools,
): Promise<0 | 1> {
  if (options['samples'] === true) {
    if (options['sample'] === undefined) return checkSamples(shell, source, options, tools)
    throw new UsageError('filetype check: only one of --sample and --samples can be given')
  }
  const sample = requiredText(options, 'sample')
  if (source === '-' && sample === '-') {
    throw new UsageError('filetype check: only one of FILE and --sample can be standard input')
  }
  const config = shell.config()
  const document = await readDocument(shell, source)
  const body = await readBytes(shell, sample)
  const report = await tools.checkFileType(document, body, config)
  if (options['json'] === true) {
    const expect = await expectationOf(tools.checkFileType, { document, body }, config)
    shell.print(JSON.stringify({ ...report, expect }))
  } else for (const line of reportText(report)) shell.print(line)
  return report.ok ? 0 : 1
}

async function checkSamples(
  shell: Shell,
  source: string,
  options: OptionValues,
  { checkFileType: check }: Tools,
): Promise<0 | 1> {
  const config = shell.config()
  const isFile = source === '-' || existsSync(source)
  const document = isFile
    ? await readDocument(shell, source)
    : await installedDocument(source, config)
  const { problem } = fileTypeOrProblem(document, fileTypeDefaultsOf(config))
  if (problem !== null) throw new CommandError(`${source}: ${problem.path} ${problem.reason}`)
  const samples = samplesIn(await withSamples(document, config), 'samples')
  const results = await runSamples(check, { document, samples }, config)
  const ok = results.every((each) => each.ok)
  if (options['json'] === true) shell.print(JSON.stringify({ ok, samples: results }))
  else for (const line of samplesText(nameOfFileType(document), results)) shell.print(line)
  return ok ? 0 : 1
}

/** The document itself, or if it has no samples, the installed one of its name. */
async function withSamples(document: unknown, config: Config): Promise<unknown> {
  if (isObject(document) && document['samples'] !== undefined) return document
  return installedDocument(nameOfFileType(document), config, false)
}

function samplesText(name: string, results: readonly SampleResult[]): string[] {
  if (results.length === 0) return [`${name} has no samples`]
  return results.flatMap(({ name: sample, ok, differences }) => [
    `${ok ? 'ok' : 'differs'}  ${sample}`,
    ...differences.map(({ field, expected, actual }) => {
      return `  ${field}: expected ${JSON.stringify(expected)}, is ${JSON.stringify(actual)}`
    }),
  ])
}

function reportText({ steps }: CheckReport): string[] {
  return steps.flatMap(({ step, ok, result }: CheckStep) => {
    const lines = treeText(result, 1)
    return [`${step}${ok ? '' : ': not usable'}`, ...lines]
  })
}

const PLAIN_NAME = /^[\w.:@-]+$/

/** Formats data as an indented tree with one line per value. */
function treeText(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (typeof value === 'string') return value.split('\n').map((line) => `${indent}${line}`)
  if (typeof value !== 'object' || value === null) return [`${indent}${String(value)}`]
  return Object.entries(value).flatMap(([key, member]) => {
    // Names come from the message and may contain control characters.
    const name = PLAIN_NAME.test(key) ? key : JSON.stringify(key)
    const isNested = typeof member === 'object' && member !== null
    if (isNested && Object.keys(member).length > 0) {
      return [`${indent}${name}`, ...treeText(member, depth + 1)]
    }
    return [`${indent}${name}: ${JSON.stringify(member)}`]
  })
}
