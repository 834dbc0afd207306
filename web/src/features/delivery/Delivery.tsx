import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function Delivery() {
  return (
    <Page title="Delivery">
      <Empty title="This screen is being built" />
    </Page>
  )
}
