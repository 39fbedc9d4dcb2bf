/** The OpenAPI document as a page that needs nothing but itself. */
import type { OpenApiDocument } from './document.ts'
import { anchor, escaped, STYLE } from './html.ts'
import type { Operation, PathItem } from './operations.ts'
import type { Schema } from './schemas.ts'

/**
 * HTML without scripts and without anything from elsewhere. `baseUrl`: of the node, for the
 * examples, such as `http://127.0.0.1:8182`.
 */
export function apiPage(document: OpenApiDocument, baseUrl: string): string {
  const { info, tags } = document
  const sections = tags.map(({ name, description }) =>
    section(document, name, description, baseUrl),
  )
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
<p>For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
</header>
<nav aria-label="Collections">
<h2>Collections</h2>
<ul>
${tags.map(({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a></li>`).join('\n')}
</ul>
</nav>
<main id="content">
${sections.join('\n')}
</main>
</body>
</html>
`
}

function section(
  document: OpenApiDocument,
  tag: string,
  description: string,
  baseUrl: string,
): string {
  const items = Object.entries(document.paths).filter(([, { get, post }]) =>
    (post ?? get)?.tags.includes(tag),
  )
  const actions = items.map(([path, item]) => action(document, path, item, baseUrl))
  return `<section aria-labelledby="${anchor(tag)}">
<h2 id="${anchor(tag)}">${escaped(tag)}</h2>
<p>${escaped(description)}.</p>
${actions.join('\n')}
</section>`
}

function action(document: OpenApiDocument, path: string, item: PathItem, baseUrl: string): string {
  const operation = item.post ?? item.get
  if (operation === undefined) return ''
  const methods = [item.get && 'GET', item.post && 'POST'].filter(Boolean).join(', ')
  const parts = Object.entries(partsOf(document, operation))
  const isTable = ([name]: Part) => name === 'query' || name === 'update'
  const tables = parts.filter(isTable)
  const others = parts.filter((part) => !isTable(part))
  const content = [
    `<p>${inline(operation.description)}</p>`,
    ...tables.map(([name, schema]) => table(`Fields of ${name}`, fieldsOf(schema), schema)),
    ...(others.length > 0 ? [table('Further parameters', others, {})] : []),
    '<p>Example:</p>',
    `<pre tabindex="0"><code>${escaped(curl(operation, path, baseUrl))}</code></pre>`,
  ]
  return `<details id="${anchor(...path.split('/').filter(Boolean))}">
<summary><code>${methods} ${escaped(path)}</code> ${escaped(operation.summary)}</summary>
<div>
${content.join('\n')}
</div>
</details>`
}

type Part = readonly [name: string, schema: Schema]

/** What a body may hold, by name. */
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

function table(caption: string, fields: readonly Part[], { required }: Schema): string {
  if (fields.length === 0) return `<p>${escaped(caption)}: there are none.</p>`
  const demanded = new Set(Array.isArray(required) ? required : [])
  const rows = fields.map(([name, schema]) => {
    const need = demanded.has(name) ? 'required' : ''
    const cells = [typeOf(schema), need, notesOf(schema)].map((cell) => `<td>${escaped(cell)}</td>`)
    return `<tr><th scope="row"><code>${escaped(name)}</code></th>${cells.join('')}</tr>`
  })
  const names = ['Field', 'Type', 'Needed', 'Notes']
  const heads = names.map((name) => `<th scope="col">${name}</th>`)
  return `<div class="wide"><table>
<caption>${escaped(caption)}</caption>
<thead><tr>${heads.join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>`
}

function typeOf(schema: Schema): string {
  const { type, anyOf, items, $ref: ref } = schema
  if (ref !== undefined) return 'date'
  if (Array.isArray(anyOf)) {
    return [...new Set(anyOf.map((each) => typeOf(each as Schema)))].join(' or ')
  }
  if (type === 'array') return items === undefined ? 'list' : `list of ${typeOf(items as Schema)}`
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')
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

function curl({ requestBody }: Operation, path: string, baseUrl: string): string {
  const url = `'${baseUrl}${path}'`
  const content = (requestBody?.['content'] ?? {}) as Record<string, { example?: unknown }>
  const example = content['application/json']?.example
  if (example !== undefined) {
    const text = JSON.stringify(example).replaceAll("'", "'\\''")
    return `curl ${url} \\\n  -H 'Content-Type: application/json' \\\n  -d '${text}'`
  }
  if (requestBody === undefined) return `curl ${url}`
  const update = '{"map":{"name":"__csvindex__0"}}'
  return `curl ${url} \\\n  -F 'files[0]=@rows.csv' \\\n  -F 'update=${update}'`
}

/** With words between backticks as code. */
function inline(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}
