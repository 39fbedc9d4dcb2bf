/** A list of a page: what is read, as a table with its pages, in all states of the read. */
import type { ComponentChildren } from 'preact'
import { type Reading, useRead } from '../api/read.ts'
import type { Page } from '../api/records.ts'
import { ReadView } from './state.tsx'
import { Pager, pageKey, Table, type TableProps } from './table.tsx'

/** Reads the page that the address names, and another when it names another. */
export function useList<Row>(
  name: string,
  read: (after: string | null, signal: AbortSignal) => Promise<Page<Row>>,
): Reading<Page<Row>> {
  const after = pageKey()
  return useRead(`${name} ${after}`, (signal) => read(after, signal))
}

interface ListProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** A page, or all rows. */
  readonly reading: Reading<Page<Row> | readonly Row[]>
  /** Usual number of rows, so that nothing jumps when they come. */
  readonly height?: number
  /** Shown in place of a table without rows. */
  readonly empty?: string
  /** Shown above the table, such as what is done with selected rows. */
  readonly above?: (rows: readonly Row[]) => ComponentChildren
  /** Shown beside the links to other pages. */
  readonly beside?: ComponentChildren
}

export function List<Row>(props: ListProps<Row>) {
  const { reading, height = 3, empty, above, beside, ...table } = props
  return (
    <ReadView reading={reading} rows={height} empty={empty}>
      {(data) => {
        const { rows, next } = isPage(data) ? data : { rows: data, next: null }
        return (
          <div class={above && 'stack'}>
            {above?.(rows)}
            <Table {...table} rows={rows} />
            {beside === undefined ? (
              <Pager next={next} />
            ) : (
              <div class="buttons">
                <Pager next={next} />
                {beside}
              </div>
            )}
          </div>
        )
      }}
    </ReadView>
  )
}

function isPage<Row>(data: Page<Row> | readonly Row[]): data is Page<Row> {
  return 'rows' in data
}
