/** The terms of a revision, to be read. */
import { DocumentEditor } from '../../parts/document/editor.tsx'
import type { Schemas } from '../../parts/document/schemas.ts'
import type { Revision } from '../../parts/revisions.ts'
import type { Collection } from './data.ts'
import { HIDDEN, plotOf, schemaOf } from './editing.tsx'

interface TermsProps {
  readonly collection: Collection
  readonly schemas: Schemas
  readonly revision: Revision
}

export function Terms({ collection, schemas, revision }: TermsProps) {
  return (
    <DocumentEditor
      schemas={schemas}
      schema={schemaOf(schemas, collection)}
      document={revision}
      hidden={HIDDEN}
      besideTiers={plotOf(revision, null)}
    />
  )
}
