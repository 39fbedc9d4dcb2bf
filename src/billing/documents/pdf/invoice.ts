/** Layout of an invoice as PDF: A4, tables over several pages with their header repeated. */
import type { Logo } from '../logo.ts'
import type { DocumentOutput } from '../output.ts'
import type { ColumnText, PartyText, Presentation, Section } from '../presentation.ts'
import type { InvoiceColumn } from '../source.ts'
import { type Canvas, CONTENT_WIDTH, createCanvas, type Fonts, LEADING, PAGE } from './canvas.ts'

export { readFonts } from './canvas.ts'

const INK = '#1c2430'
const SOFT = '#5d6b7c'
const LINE = '#d5dbe3'
const ACCENT = '#1f5fa8'
const SHADE = '#f2f5f9'

const BODY = { size: 8.5, color: INK } as const
const STRONG = { ...BODY, weight: 'bold' } as const
const LABEL = { size: 7.5, color: SOFT } as const
const HEADING = { size: 10, weight: 'bold', color: INK } as const
const TITLE = { size: 18, weight: 'bold', color: ACCENT } as const
const SMALL = { size: 7, color: SOFT } as const
const TOTAL = { size: 11, weight: 'bold', color: INK } as const

const PADDING = 4
const GAP = 14
const LINE_HEIGHT = BODY.size * LEADING
const SUBTOTAL_HEIGHT = LINE_HEIGHT + 2 * PADDING
const CONTENT_HEIGHT = PAGE.height - PAGE.top - PAGE.bottom
/** Widths of the columns; the description has the rest. */
const WIDTHS: Readonly<Partial<Record<InvoiceColumn, number>>> = {
  position: 28,
  period: 118,
  quantity: 62,
  tax: 62,
  amount: 78,
}
const DESCRIPTION_MIN = 110
const LOGO = { width: 150, height: 54 } as const
const TOTALS_WIDTH = 250

export interface PdfParts {
  readonly fonts: Fonts
  readonly logo: Logo | null
  readonly createdAt: Date
}

export function writeInvoicePdf(
  presentation: Presentation,
  { fonts, logo, createdAt }: PdfParts,
  output: DocumentOutput,
): Promise<void> {
  const { title, number, seller, locale, direction } = presentation
  const info = { title: `${title} ${number}`, author: seller.name, language: locale, createdAt }
  const canvas = createCanvas(fonts, info, direction, output)
  const layout = () => {
    drawHead(canvas, presentation, logo)
    for (const section of presentation.sections) drawSection(canvas, presentation, section)
    if (presentation.sections.length === 0) drawParagraph(canvas, label(presentation, 'no_lines'))
    canvas.reserve(endHeight(canvas, presentation))
    drawTaxes(canvas, presentation)
    drawTotals(canvas, presentation)
    drawNotes(canvas, presentation)
  }
  return canvas.write(layout, (page, pages) => drawMargins(canvas, presentation, page, pages))
}

function label({ texts }: Presentation, name: string): string {
  return texts[name] ?? name
}

function drawHead(canvas: Canvas, presentation: Presentation, logo: Logo | null): void {
  const { title, number, facts, seller, buyer } = presentation
  const top = canvas.y
  if (logo !== null) {
    canvas.image(logo, { start: CONTENT_WIDTH - LOGO.width, y: top, ...LOGO })
  }
  const width = CONTENT_WIDTH - LOGO.width - GAP
  const heading = `${title} ${number}`
  canvas.text(heading, { start: 0, y: top, width }, TITLE)
  canvas.y += Math.max(canvas.heightOf(heading, width, TITLE), logo === null ? 0 : LOGO.height) + 8
  for (const { label: name, value } of facts) {
    canvas.text(name, { start: 0, y: canvas.y, width: 110 }, { ...BODY, color: SOFT })
    const box = { start: 116, y: canvas.y, width: CONTENT_WIDTH - 116 }
    canvas.text(value, box, BODY)
    canvas.y += Math.max(canvas.heightOf(value, box.width, BODY), LINE_HEIGHT)
  }
  canvas.y += GAP
  const half = (CONTENT_WIDTH - GAP) / 2
  const bottoms = [seller, buyer].map((party, index) => {
    return drawParty(canvas, party, { start: index * (half + GAP), width: half })
  })
  canvas.y = Math.max(...bottoms) + GAP
}

/** The end of its lines. */
function drawParty(
  canvas: Canvas,
  { label: name, name: party, lines }: PartyText,
  { start, width }: { readonly start: number; readonly width: number },
): number {
  let { y } = canvas
  const parts = [
    { text: name, style: LABEL },
    { text: party, style: STRONG },
    ...lines.map((text) => ({ text, style: BODY })),
  ]
  for (const { text, style } of parts) {
    if (text === '') continue
    canvas.text(text, { start, y, width }, style)
    y += canvas.heightOf(text, width, style)
  }
  return y
}

interface PlacedColumn extends ColumnText {
  readonly start: number
  readonly width: number
}

function placedColumns(columns: readonly ColumnText[]): readonly PlacedColumn[] {
  const fixed = columns.reduce((total, { name }) => total + (WIDTHS[name] ?? 0), 0)
  const rest = Math.max(DESCRIPTION_MIN, CONTENT_WIDTH - fixed)
  let start = 0
  return columns.map((column) => {
    const width = WIDTHS[column.name] ?? rest
    const placed = { ...column, start, width }
    start += width
    return placed
  })
}

function drawSection(canvas: Canvas, presentation: Presentation, section: Section): void {
  const columns = placedColumns(presentation.columns)
  const header = { cells: columns.map(({ label: text }) => text), style: LABEL }
  const whole = sectionHeight(canvas, columns, section)
  // On one page; a longer table, and the one below the head, begin with at least one line.
  const isFirst = section === presentation.sections[0]
  const isWhole = !isFirst && whole <= CONTENT_HEIGHT
  canvas.reserve(isWhole ? whole : HEADING.size * LEADING + 5 * LINE_HEIGHT)
  canvas.text(section.title, { start: 0, y: canvas.y, width: CONTENT_WIDTH }, HEADING)
  canvas.y += canvas.heightOf(section.title, CONTENT_WIDTH, HEADING) + 3
  drawRow(canvas, columns, header.cells, header.style, SHADE)
  for (const [index, { cells }] of section.lines.entries()) {
    const texts = cells.map(({ text }) => text)
    // The subtotal stands below a line.
    const below = index === section.lines.length - 1 ? SUBTOTAL_HEIGHT : 0
    if (canvas.reserve(rowHeight(canvas, columns, texts) + below)) {
      drawRow(canvas, columns, header.cells, header.style, SHADE)
    }
    drawRow(canvas, columns, texts, BODY)
  }
  const width = CONTENT_WIDTH - 100
  const y = canvas.y + PADDING
  canvas.text(label(presentation, 'subtotal'), { start: PADDING, y, width }, STRONG)
  const end = { start: width, y, width: 100 - PADDING }
  canvas.text(section.total, end, { ...STRONG, align: 'end' })
  canvas.y = y + LINE_HEIGHT + GAP
}

/** Infinite for a table that is longer than a page. */
function sectionHeight(
  canvas: Canvas,
  columns: readonly PlacedColumn[],
  { title, lines }: Section,
): number {
  if (lines.length * LINE_HEIGHT > CONTENT_HEIGHT) return Number.POSITIVE_INFINITY
  const header = columns.map(({ label: text }) => text)
  const head = canvas.heightOf(title, CONTENT_WIDTH, HEADING) + 3
  let height = head + rowHeight(canvas, columns, header, LABEL) + SUBTOTAL_HEIGHT
  for (const { cells } of lines) {
    const texts = cells.map(({ text }) => text)
    height += rowHeight(canvas, columns, texts)
  }
  return height
}

/** Height of taxes, totals and notes, which are on one page unless they need more. */
function endHeight(canvas: Canvas, { taxes, totals, notes }: Presentation): number {
  const ofTaxes = HEADING.size * LEADING + 3 + taxes.length * (LINE_HEIGHT + 2 * PADDING) + GAP
  const ofTotals = totals.length * (TOTAL.size * LEADING + PADDING) + PADDING + GAP
  const ofNotes = notes.map((note) => canvas.heightOf(note, CONTENT_WIDTH, BODY) + PADDING)
  const all = ofNotes.reduce((total, height) => total + height, ofTaxes + ofTotals)
  return all <= CONTENT_HEIGHT ? all : 0
}

type RowStyle = typeof BODY | typeof LABEL

function rowHeight(
  canvas: Canvas,
  columns: readonly PlacedColumn[],
  texts: readonly string[],
  style: RowStyle = BODY,
): number {
  const heights = columns.map(({ width }, index) => {
    return canvas.heightOf(texts[index] ?? '', width - 2 * PADDING, style)
  })
  return Math.max(...heights) + 2 * PADDING
}

function drawRow(
  canvas: Canvas,
  columns: readonly PlacedColumn[],
  texts: readonly string[],
  style: RowStyle,
  shade?: string,
): void {
  const height = rowHeight(canvas, columns, texts, style)
  const all = { start: 0, y: canvas.y, width: CONTENT_WIDTH }
  if (shade !== undefined) canvas.fill({ ...all, height }, shade)
  for (const [index, { start, width, isNumber }] of columns.entries()) {
    const box = { start: start + PADDING, y: canvas.y + PADDING, width: width - 2 * PADDING }
    const align = isNumber ? 'end' : 'start'
    canvas.text(texts[index] ?? '', box, { ...style, align })
  }
  canvas.y += height
  canvas.rule({ ...all, y: canvas.y }, LINE, 0.5)
}

const TAX_COLUMNS = [
  { start: 0, share: 0.5, isNumber: false },
  { start: 0.5, share: 0.28, isNumber: true },
  { start: 0.78, share: 0.22, isNumber: true },
] as const

function drawTaxes(canvas: Canvas, presentation: Presentation): void {
  const { taxes } = presentation
  if (taxes.length === 0) return
  canvas.reserve(HEADING.size * LEADING + 4 * LINE_HEIGHT)
  const title = label(presentation, 'tax')
  canvas.text(title, { start: 0, y: canvas.y, width: CONTENT_WIDTH }, HEADING)
  canvas.y += HEADING.size * LEADING + 3
  const columns: readonly PlacedColumn[] = TAX_COLUMNS.map(({ start, share, isNumber }) => ({
    name: 'amount',
    label: '',
    isNumber,
    start: start * CONTENT_WIDTH,
    width: share * CONTENT_WIDTH,
  }))
  for (const { description, rate, base, amount } of taxes) {
    const texts = [`${description} ${rate}`, `${label(presentation, 'of_base')} ${base}`, amount]
    canvas.reserve(rowHeight(canvas, columns, texts))
    drawRow(canvas, columns, texts, BODY)
  }
  canvas.y += GAP
}

function drawTotals(canvas: Canvas, { totals }: Presentation): void {
  const start = CONTENT_WIDTH - TOTALS_WIDTH
  const widths = { name: TOTALS_WIDTH * 0.52, value: TOTALS_WIDTH * 0.48 }
  // The totals are on one page.
  canvas.reserve(totals.length * (TOTAL.size * LEADING + PADDING) + PADDING)
  for (const { label: name, value, isPayable } of totals) {
    const style = isPayable ? TOTAL : BODY
    if (isPayable) canvas.y += PADDING
    if (isPayable) canvas.rule({ start, y: canvas.y, width: TOTALS_WIDTH }, ACCENT, 1.2)
    const y = canvas.y + PADDING
    canvas.text(name, { start, y, width: widths.name }, style)
    const box = { start: start + widths.name, y, width: widths.value - PADDING }
    canvas.text(value, box, { ...style, align: 'end' })
    canvas.y = y + Math.max(canvas.heightOf(name, widths.name, style), LINE_HEIGHT)
  }
  canvas.y += GAP
}

function drawNotes(canvas: Canvas, presentation: Presentation): void {
  for (const note of presentation.notes) drawParagraph(canvas, note)
}

function drawParagraph(canvas: Canvas, text: string): void {
  const height = canvas.heightOf(text, CONTENT_WIDTH, BODY)
  canvas.reserve(height)
  canvas.text(text, { start: 0, y: canvas.y, width: CONTENT_WIDTH }, BODY)
  canvas.y += height + PADDING
}

/** Head line of later pages, and foot of all. */
function drawMargins(
  canvas: Canvas,
  presentation: Presentation,
  page: number,
  pages: number,
): void {
  const { title, number, seller, footer } = presentation
  const width = CONTENT_WIDTH - 90
  if (page > 1) {
    const text = `${title} ${number} · ${seller.name}`
    canvas.text(text, { start: 0, y: PAGE.top - 22, width: CONTENT_WIDTH }, SMALL)
  }
  const y = PAGE.height - PAGE.bottom + 16
  canvas.rule({ start: 0, y: y - 6, width: CONTENT_WIDTH }, LINE, 0.5)
  const lines = footer.split('\n').slice(0, 3).join('\n')
  canvas.text(lines, { start: 0, y, width }, SMALL)
  const text = label(presentation, 'page')
    .replace('{page}', String(page))
    .replace('{pages}', String(pages))
  canvas.text(text, { start: width, y, width: 90 }, { ...SMALL, align: 'end' })
}
