/** Renders the OpenAPI document as a self-contained page. */
import { refName, type Schema } from '../../catalog/entities/json-schema.ts'
import type { OpenApiDocument } from './document.ts'
import { anchor, escaped, STYLE } from './html.ts'
import type { Operation, PathItem } from './operations.ts'

/** HTML without scripts and external resources. */
export function apiPage(document: OpenApiDocument): string {
  const { info, tags } = document
  const sections = tags.map(({ name, description }) => section(document, name, description))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)} ${escaped(info.version)}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">To the content</a>
<header>
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
<p>${inline(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1), and of the charging port
<a href="/openapi/realtime.json">openapi/realtime.json</a>.</p>
</header>
<nav aria-label="Collections">
<h2>Collections</h2>
<ul>
${tags.map(({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a></li>`).join('\n')}
<li><a href="#types">types of values</a></li>
</ul>
</nav>
<main id="content">
${sections.join('\n')}
${types(document)}
</main>
</body>
</html>
`
}

function section(document: OpenApiDocument, tag: string, description: string): string {
  const items = Object.entries(document.paths).filter(([, { get, post }]) =>
    (post ?? get)?.tags.includes(tag),
  )
  const actions = items.map(([path, item]) => action(document, path, item))
  return `<section aria-labelledby="${anchor(tag)}">
<h2 id="${anchor(tag)}">${escaped(tag)}</h2>
<p>${escaped(description)}.</p>
${actions.join('\n')}
</section>`
}

function action(document: OpenApiDocument, path: string, item: PathItem): string {
  const operation = item.post ?? item.get
  if (operation === undefined) return ''
  const methods = [item.get && 'GET', item.post && 'POST'].filter(Boolean).join(', ')
  const parts = Object.entries(partsOf(document, operation))
  const isTable = ([name]: Part) => name === 'query' || name === 'update'
  const tables = parts.filter(isTable)
  const others = parts.filter((part) => !isTable(part))
  const content = [
    `<p>${inline(operation.description)}</p>`,
    ...tables.map(([name, schema]) => table(document, `Fields of ${name}`, schema)),
    ...(others.length > 0
      ? [
          table(document, 'Further parameters', {
            properties: Object.fromEntries(others),
          }),
        ]
      : []),
    ...operation['x-codeSamples'].map(({ label, source }) => sample(label, source)),
    ...answers(operation),
  ]
  return `<details id="${anchor(...path.split('/').filter(Boolean))}">
<summary><code>${methods} ${escaped(path)}</code> ${escaped(operation.summary)}</summary>
<div>
${content.join('\n')}
</div>
</details>`
}

function sample(label: string, source: string): string {
  return `<p>Example (${escaped(label)}):</p>\n<pre><code>${escaped(source)}</code></pre>`
}

/** Example of the successful response. */
function answers({ responses }: Operation): string[] {
  const { content } = (responses['200'] ?? {}) as { content?: Record<string, Schema> }
  const [type, media] = Object.entries(content ?? {})[0] ?? []
  const [example] = Object.values((media?.['examples'] ?? {}) as Record<string, Schema>)
  if (type === undefined || example === undefined) return []
  const { value } = example
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const open = '<details class="answer"><summary>Answer</summary>'
  return [`${open}<div><pre><code>${escaped(text)}</code></pre></div></details>`]
}

/** Compound types with their fields. */
function types(document: OpenApiDocument): string {
  const { components, paths } = document
  const shown = Object.entries(components.schemas).filter(([name]) => isType(document, name))
  const tables = shown.map(([name, schema]) => {
    const parts = table(document, String(schema['description'] ?? name), schema)
    return `<h3 id="${anchor('type', name)}"><code>${escaped(name)}</code></h3>\n${parts}`
  })
  const count = Object.keys(paths).length
  return `<section aria-labelledby="types">
<h2 id="types">Types of values</h2>
<p>Parts of compound values, which the tables of the ${count} calls above name.</p>
${tables.join('\n')}
</section>`
}

type Part = readonly [name: string, schema: Schema]

/** Parameters in the body, by name. */
function partsOf(document: OpenApiDocument, { requestBody }: Operation): Record<string, Schema> {
  const content = (requestBody?.['content'] ?? {}) as Record<string, { schema: Schema }>
  const schema = (content['application/json'] ?? content['multipart/form-data'])?.schema
  const parts = Object.entries((schema?.['properties'] ?? {}) as Record<string, Schema>)
  return Object.fromEntries(parts.map(([name, part]) => [name, resolved(document, part)]))
}

function resolved(document: OpenApiDocument, schema: Schema): Schema {
  const { $ref: ref } = schema
  if (typeof ref !== 'string') return schema
  return document.components.schemas[ref.slice('#/components/schemas/'.length)] ?? {}
}

function fieldsOf({ properties }: Schema): Part[] {
  return Object.entries((properties ?? {}) as Record<string, Schema>)
}

/** True if a component has its own table of fields. */
function isType({ components }: OpenApiDocument, name: string): boolean {
  return !name.includes('.') && components.schemas[name]?.['properties'] !== undefined
}

const COLUMNS = ['Field', 'Type', 'Needed', 'Notes'] as const

function table(document: OpenApiDocument, caption: string, schema: Schema): string {
  const fields = fieldsOf(schema)
  if (fields.length === 0) return `<p>${escaped(caption)}: there are none.</p>`
  const { required } = schema
  const requiredNames = new Set(Array.isArray(required) ? required : [])
  const rows = fields.map(([name, field]) => {
    const need = requiredNames.has(name) ? 'required' : ''
    const cells = [typeOf(document, field), need, inline(notesOf(field))].map(
      (cell) => `<td>${cell}</td>`,
    )
    return `<tr><th scope="row"><code>${escaped(name)}</code></th>${cells.join('')}</tr>`
  })
  const heads = COLUMNS.map((name) => `<th scope="col">${name}</th>`)
  return `<table>
<caption>${inline(caption)}</caption>
<thead><tr>${heads.join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`
}

/** HTML; compound types are links to their tables. */
function typeOf(document: OpenApiDocument, schema: Schema): string {
  const { type, anyOf, items, additionalProperties: others, properties } = schema
  const name = refName(schema)
  if (name !== null) return linked(document, name)
  const typeName = (part: unknown) => typeOf(document, part as Schema)
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map(typeName))].join(' or ')
  if (type === 'array') return items === undefined ? 'list' : `list of ${typeName(items)}`
  if (type === 'object' && typeof others === 'object' && properties === undefined) {
    return `object of ${typeName(others)}`
  }
  return escaped(Array.isArray(type) ? type.join(' or ') : String(type ?? 'any'))
}

const NAMES: Readonly<Record<string, string>> = {
  amount: 'number or decimal text',
  jsonValue: 'any JSON value',
  idGiven: 'id',
  dateGiven: 'date',
  dateScalar: 'date',
  emptyObject: 'empty list',
}

function linked(document: OpenApiDocument, name: string): string {
  if (isType(document, name)) return `<a href="#${anchor('type', name)}">${escaped(name)}</a>`
  const schema = document.components.schemas[name] ?? {}
  const isPlain = Object.hasOwn(NAMES, name) || name.endsWith('Filter')
  return isPlain ? escaped(NAMES[name] ?? name) : typeOf(document, schema)
}

function notesOf({ title, description, enum: values, default: fallback, pattern }: Schema): string {
  const notes = [
    title,
    description,
    Array.isArray(values) ? `One of ${values.join(', ')}.` : undefined,
    fallback === undefined ? undefined : `Default ${JSON.stringify(fallback)}.`,
    pattern === undefined ? undefined : `Form ${String(pattern)}`,
  ]
  return notes
    .filter((note) => note !== undefined && note !== '')
    .join('. ')
    .replaceAll('..', '.')
}

/** Renders text between backticks as code. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}
