/** HTML documents from a template of the operator, or that of the node. */
import { readdir, readFile, realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { Context, type Emitter, Liquid, LiquidError, toPromise } from 'liquidjs'
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { TemplateError } from './errors.ts'
import { formatsOf } from './format.ts'
import { jsonOf } from './json.ts'
import { logoOf, MEDIA_TYPES } from './logo.ts'
import type { DocumentOutput } from './output.ts'
import type { Presentation } from './presentation.ts'
import { OWN_FOLDER } from './texts.ts'
import type { InvoiceView } from './view.ts'

const TEMPLATE = 'invoice.liquid'
/**
 * Parts of a template that are rendered: texts, outputs and tags. A template that needs more fails
 * instead of stopping the process.
 */
const PARTS_MAX = 1_000_000
const PARTS_PER_LINE = 500
/** Characters and members of lists in filters. */
const MEMORY_MAX = 50_000_000
const MEMORY_PER_LINE = 500

/**
 * `folder` of the operator's templates; empty: those of the node. Rejects with
 * `TemplateError`, which names file and line.
 */
export async function renderHtml(
  folder: string,
  view: InvoiceView,
  presentation: Presentation,
  output: DocumentOutput,
): Promise<void> {
  const roots = folder === '' ? [OWN_FOLDER] : [folder, OWN_FOLDER]
  const engine = engineOf(roots, view, presentation)
  const logo = await logoOf(folder)
  const values = {
    ...presentation,
    // Few templates need it.
    get invoice() {
      return jsonOf(view)
    },
    logo: logo?.name ?? null,
  }
  const limits = { renderLimit: new PartsLimit(view.lines.length) as never }
  try {
    const context = new Context(values, engine.options, {}, limits)
    const templates = await engine.parseFile(TEMPLATE)
    const emitter = new OutputEmitter(output) as unknown as Emitter
    await toPromise(engine.renderer.renderTemplates(templates, context, emitter))
  } catch (error) {
    throw await templateError(error, roots)
  }
}

/** Passes on what the engine would collect. */
class OutputEmitter {
  readonly buffer = ''
  readonly #output: DocumentOutput

  constructor(output: DocumentOutput) {
    this.#output = output
  }

  write(html: unknown): void {
    this.#output.write(String(html))
  }
}

/** Replaces the limit of the engine, which is one on time and depends on what else is running. */
class PartsLimit {
  #left: number

  constructor(lines: number) {
    this.#left = PARTS_MAX + lines * PARTS_PER_LINE
  }

  /** The engine calls it before each part. */
  check(): void {
    this.#left -= 1
    if (this.#left < 0) throw new Error('template parts limit exceeded')
  }
}

/** Templates are read again each time: an operator's change counts at once. */
function engineOf(roots: readonly string[], view: InvoiceView, { locale }: Presentation): Liquid {
  const engine = new Liquid({
    root: [...roots],
    partials: [...roots],
    layouts: [...roots],
    extname: '.liquid',
    outputEscape: 'escape',
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    lenientIf: true,
    relativeReference: false,
    memoryLimit: MEMORY_MAX + view.lines.length * MEMORY_PER_LINE,
    timezoneOffset: 0,
  })
  const formats = formatsOf(locale, view.source.settings, view.digits)
  engine.registerFilter('money', (amount: unknown) => formats.money(new Exact(String(amount))))
  engine.registerFilter('percent', (rate: unknown) => formats.percent(new Exact(String(rate))))
  engine.registerFilter('data_uri', (name: unknown) => dataUri(roots, String(name)))
  return engine
}

/** A picture or font of the template folder, as part of the document. */
async function dataUri(roots: readonly string[], name: string): Promise<string> {
  const type = MEDIA_TYPES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase())
  if (type === undefined) throw new Error(`data_uri: ${name} is not a picture or font`)
  for (const root of roots) {
    const path = await pathInside(root, name)
    if (path === null) continue
    return `data:${type};base64,${(await readFile(path)).toString('base64')}`
  }
  throw new Error(`data_uri: the template folder has no ${name}`)
}

/** Null if there is no such file in the folder, whatever links lead to. */
async function pathInside(root: string, name: string): Promise<string | null> {
  try {
    const path = await realpath(join(root, name))
    const inside = relative(await realpath(root), path)
    const isInside = inside !== '' && inside.split(sep)[0] !== '..' && !isAbsolute(inside)
    return isInside ? path : null
  } catch {
    return null
  }
}

/** The error as one line: the rest of its message is an excerpt of the template. */
async function templateError(error: unknown, roots: readonly string[]): Promise<unknown> {
  if (!LiquidError.is(error)) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? new TemplateError(`invoice template: ${message}`, 'refused') : error
  }
  const { token } = error
  const [line] = token.getPosition()
  const file = token.file ?? (await fileWith(token.input, roots)) ?? TEMPLATE
  const reason = (error.originalError ?? error).message.split('\n')[0]?.replace(/, file:.*$/, '')
  return new TemplateError(`${file}, line ${line}: ${reason}`, 'refused', { cause: error })
}

/** Errors about undefined variables know the text of the template only. */
async function fileWith(text: string, roots: readonly string[]): Promise<string | undefined> {
  for (const root of roots) {
    for (const name of await readdir(root, { recursive: true })) {
      if (!name.endsWith('.liquid')) continue
      const file = join(root, name)
      if ((await readFile(file, 'utf8')) === text) return file
    }
  }
  return undefined
}
