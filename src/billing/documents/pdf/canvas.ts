/** Pages of a PDF with text in any direction, on which a layout draws from the top down. */

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import PDFDocument from 'pdfkit'
import { TemplateError } from '../errors.ts'
import { checkPng, type Logo } from '../logo.ts'
import type { DocumentOutput } from '../output.ts'
import { type Direction, directionOf, isRightToLeft, visualRuns, wrapText } from './bidi.ts'

export const PAGE = { width: 595.28, height: 841.89, side: 48, top: 48, bottom: 64 } as const
export const CONTENT_WIDTH = PAGE.width - 2 * PAGE.side
const CONTENT_BOTTOM = PAGE.height - PAGE.bottom
/** Height of a line in sizes of the font. */
export const LEADING = 1.32
/** Longer texts are cut off: a cell is never higher than a page. */
const LINES_MAX = 12
const LENGTH_MAX = 4000
/** Number of texts whose lines are kept: they are measured and drawn, and many occur again. */
const KEPT_MAX = 5000

const WEIGHTS = ['regular', 'bold'] as const
export type Weight = (typeof WEIGHTS)[number]

export interface TextStyle {
  readonly size: number
  readonly weight?: Weight
  readonly color?: string
  /** Side of the box at which lines begin. */
  readonly align?: 'start' | 'end'
}

export interface Font {
  readonly path: string
  readonly bytes: Buffer
}

export type Fonts = Readonly<Record<Weight, Font>>

export interface PdfInfo {
  readonly title: string
  readonly author: string
  readonly language: string
  /** The same invoice has the same bytes: the time is that of the invoice. */
  readonly createdAt: Date
}

const require = createRequire(import.meta.url)

/** Fonts of the template folder (`regular.ttf`, `bold.ttf`), or those of the node. */
export async function readFonts(folder: string): Promise<Fonts> {
  const own = (name: string) => require.resolve(`dejavu-fonts-ttf/ttf/${name}`)
  const regular = await fontOf(folder, 'regular.ttf', own('DejaVuSans.ttf'))
  const bold = await fontOf(folder, 'bold.ttf', own('DejaVuSans-Bold.ttf'))
  return { regular, bold }
}

async function fontOf(folder: string, name: string, own: string): Promise<Font> {
  const path = join(folder, name)
  try {
    if (folder !== '') return { path, bytes: await readFile(path) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new TemplateError(`${path} cannot be read: ${(error as Error).message}`, 'refused')
    }
  }
  return { path: own, bytes: await readFile(own) }
}

export interface Canvas {
  readonly direction: Direction
  /** Distance of the next element from the top of the page. */
  y: number
  /** Begins a page unless the current one has room for `height`; true if it did. */
  reserve(height: number): boolean
  /** Height of a text in a box. */
  heightOf(text: string, width: number, style: TextStyle): number
  /**
   * Draws into a box whose `start` is the distance from the side at which lines begin. Does not
   * move `y`.
   */
  text(text: string, box: Box, style: TextStyle): void
  rule(box: Box, color: string, weight: number): void
  fill(box: Box & { readonly height: number }, color: string): void
  /** Throws `TemplateError` with the path for a picture that cannot be drawn. */
  image(logo: Logo, box: Box & { readonly height: number }): void
  /**
   * Writes the document. `layout` is called twice: the first time only the pages are counted.
   * `decorate` draws what is outside of the content of a page.
   */
  write(layout: () => void, decorate: (page: number, pages: number) => void): Promise<void>
}

export interface Box {
  readonly start: number
  readonly y: number
  readonly width: number
}

/** Throws `TemplateError` for fonts that cannot be used. */
export function createCanvas(
  fonts: Fonts,
  info: PdfInfo,
  direction: Direction,
  output: DocumentOutput,
): Canvas {
  const document = new PDFDocument({
    size: [PAGE.width, PAGE.height],
    margin: 0,
    autoFirstPage: false,
    pdfVersion: '1.7',
    lang: info.language,
    displayTitle: true,
    // No font of its own.
    font: '',
    info: { Title: info.title, Author: info.author, CreationDate: info.createdAt },
  })
  // pdfkit reads a second name of the same font again for each text.
  const hasBold = !fonts.bold.bytes.equals(fonts.regular.bytes)
  for (const weight of hasBold ? WEIGHTS : WEIGHTS.slice(0, 1)) {
    useFont(fonts[weight], (bytes) => document.registerFont(weight, bytes).font(weight))
  }
  return new PdfCanvas(document, direction, hasBold, output)
}

function useFont({ path, bytes }: Font, use: (bytes: Buffer) => void): void {
  try {
    use(bytes)
  } catch (error) {
    throw new TemplateError(`${path} is not a font: ${(error as Error).message}`, 'refused')
  }
}

type Document = InstanceType<typeof PDFDocument>

/**
 * Without features pdfkit shapes word by word, which is faster and puts the words of right-to-left
 * texts in the wrong order.
 */
const optionsOf = (text: string) => {
  return isRightToLeft(text) ? { lineBreak: false, features: [] } : { lineBreak: false }
}

/** The current font of a document, which alone knows its characters; the types lack it. */
interface OpenFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } }
}

/** In the place of a character that a font does not have. */
const MISSING = ['\u25a1', '\ufffd', '?'] as const
/** Characters with a glyph. */
const SHOWN = /[^\p{Cc}\p{Cf}\p{Z}]/gu

class PdfCanvas implements Canvas {
  readonly direction: Direction
  y = PAGE.top
  readonly #document: Document
  readonly #hasBold: boolean
  readonly #output: DocumentOutput
  readonly #lines = new Map<string, readonly string[]>()
  #page = 0
  /** Draws nothing in the first pass. */
  #isDrawn = false
  #endPage: () => void = () => undefined

  constructor(document: Document, direction: Direction, hasBold: boolean, output: DocumentOutput) {
    this.#document = document
    this.#hasBold = hasBold
    this.direction = direction
    this.#output = output
  }

  async write(layout: () => void, decorate: (page: number, pages: number) => void): Promise<void> {
    this.#beginPage()
    layout()
    const pages = this.#page
    this.#page = 0
    this.#isDrawn = true
    this.#beginPage()
    this.#endPage = () => decorate(this.#page, pages)
    layout()
    this.#endPage()
    this.#document.end()
    // Pictures are decoded meanwhile.
    for await (const bytes of this.#document) this.#output.write(bytes as Buffer)
  }

  reserve(height: number): boolean {
    if (this.y + height <= CONTENT_BOTTOM) return false
    this.#endPage()
    this.#beginPage()
    return true
  }

  #beginPage(): void {
    this.#page += 1
    this.y = PAGE.top
    if (!this.#isDrawn) return
    this.#document.addPage()
    this.#pass()
  }

  /** Writes the pages that are finished. */
  #pass(): void {
    for (let bytes = this.#document.read(); bytes !== null; bytes = this.#document.read()) {
      this.#output.write(bytes)
    }
  }

  heightOf(text: string, width: number, style: TextStyle): number {
    return this.#linesOf(text, width, style).length * style.size * LEADING
  }

  text(text: string, box: Box, style: TextStyle): void {
    if (!this.#isDrawn) return
    const document = this.#document
    const lines = this.#linesOf(text, box.width, style)
    const direction = directionOf(text)
    document.fillColor(style.color ?? '#000000')
    for (const [index, line] of lines.entries()) {
      const runs = visualRuns(line, direction).map((run) => {
        return { ...run, width: document.widthOfString(run.text, optionsOf(run.text)) }
      })
      const width = runs.reduce((total, run) => total + run.width, 0)
      const isAtEnd = style.align === 'end'
      const start = box.start + (isAtEnd ? box.width - width : 0)
      let x = this.#leftOf(start, width)
      const y = box.y + index * style.size * LEADING
      for (const run of runs) {
        document.text(run.text, x, y, optionsOf(run.text))
        x += run.width
      }
    }
  }

  rule(box: Box, color: string, weight: number): void {
    if (!this.#isDrawn) return
    const x = this.#leftOf(box.start, box.width)
    this.#document
      .moveTo(x, box.y)
      .lineTo(x + box.width, box.y)
      .lineWidth(weight)
      .stroke(color)
  }

  fill(box: Box & { readonly height: number }, color: string): void {
    if (!this.#isDrawn) return
    const x = this.#leftOf(box.start, box.width)
    this.#document.rect(x, box.y, box.width, box.height).fill(color)
  }

  image({ path, bytes }: Logo, { start, y, width, height }: Box & { readonly height: number }) {
    if (!this.#isDrawn) return
    const fit: [number, number] = [width, height]
    // At the end of the line.
    const options = this.direction === 'ltr' ? { fit, align: 'right' as const } : { fit }
    try {
      checkPng(bytes)
      this.#document.image(bytes, this.#leftOf(start, width), y, options)
    } catch (error) {
      throw new TemplateError(`${path} cannot be drawn: ${(error as Error).message}`, 'refused')
    }
  }

  /** Also selects the font. */
  #linesOf(text: string, width: number, { size, weight = 'regular' }: TextStyle) {
    const document = this.#document
    document.font(this.#hasBold ? weight : 'regular').fontSize(size)
    const key = `${weight} ${size} ${width} ${text}`
    const found = this.#lines.get(key)
    if (found !== undefined) return found
    const widthOf = (part: string) => document.widthOfString(part, optionsOf(part))
    const drawable = this.#drawable(text.slice(0, LENGTH_MAX))
    const lines = wrapText(drawable, width, LINES_MAX, widthOf)
    if (this.#lines.size >= KEPT_MAX) this.#lines.clear()
    this.#lines.set(key, lines)
    return lines
  }

  /** With a sign for each character that the font does not have. */
  #drawable(text: string): string {
    const { font } = (this.#document as unknown as OpenFont)._font
    const has = (char: string) => font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0)
    const replacement = MISSING.find(has) ?? ''
    return text.replace(SHOWN, (char) => (has(char) ? char : replacement))
  }

  #leftOf(start: number, width: number): number {
    const x = PAGE.side + start
    return this.direction === 'ltr' ? x : PAGE.width - x - width
  }
}
