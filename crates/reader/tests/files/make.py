"""Makes the files that the tests read, with the programs that people use to write such files.

    pip install python-docx==1.2.0 python-pptx==1.0.2 openpyxl==3.1.5 reportlab==4.4.4 && python make.py
"""

import datetime
import pathlib

import docx
import openpyxl
import pptx
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

HERE = pathlib.Path(__file__).parent


def report():
    document = docx.Document()
    document.core_properties.title = "Harbour report"
    document.add_heading("Harbour report", 0)
    document.add_heading("Ships", 1)
    paragraph = document.add_paragraph("The harbour had ")
    paragraph.add_run("412 ships").bold = True
    paragraph.add_run(" in ")
    paragraph.add_run("May").italic = True
    paragraph.add_run(".")
    document.add_paragraph("Container ships", style="List Bullet")
    document.add_paragraph("Ferries", style="List Bullet")
    document.add_paragraph("Moor", style="List Number")
    document.add_paragraph("Unload", style="List Number")
    table = document.add_table(rows=3, cols=3)
    for row, cells in enumerate([["Quay", "Length", "Depth"], ["North", "410", "14"], ["South", "260", "9"]]):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(1, 1).merge(table.cell(1, 2)).text = "unknown"
    document.save(HERE / "report.docx")


def sales():
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Sales"
    rows = [["Day", "Town", "Amount"], [datetime.date(2026, 1, 31), "Brest", 2.05], [datetime.date(2026, 2, 1), "Oslo", 1234]]
    for row in rows:
        sheet.append(row)
    sheet["E5"] = "Note"
    sheet["E6"] = "without tax"
    other = workbook.create_sheet("Open times")
    other["A1"] = "Monday | Tuesday"
    other["A2"] = datetime.datetime(2026, 3, 1, 8, 30)
    other["B1"] = True
    other.merge_cells("A4:B4")
    other["A4"] = "closed"
    workbook.save(HERE / "sales.xlsx")


def slides():
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Ferries"
    body = slide.placeholders[1].text_frame
    body.text = "Daily to Kiel"
    body.add_paragraph().text = "Weekly to Oslo"
    slide.notes_slide.notes_text_frame.text = "Mention the strike."
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = "Passengers"
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, cells in enumerate([["Year", "Count"], ["2025", "81000"]]):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    data = CategoryChartData()
    data.categories = ["2024", "2025"]
    data.add_series("Passengers", (79000, 81000))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), Inches(4), Inches(2), data)
    presentation.save(HERE / "slides.pptx")


def paper():
    page = canvas.Canvas(str(HERE / "paper.pdf"), pagesize=A4)
    page.setTitle("Tides of the North")
    page.setFont("Times-Bold", 20)
    page.drawString(60, 770, "Tides of the North")
    page.setFont("Times-Roman", 10)
    left = ["Tides follow the moon in a way that", "was first written down by sailors, who", "kept lists of the hours at which the",
            "water stood highest in every har-", "bour they knew of."]
    right = ["In the second column the text goes on", "as if nothing had happened. Readers", "find their way without being told, and",
             "a program has to find it as well from", "the white between the columns."]
    for x, lines in ((60, left), (310, right)):
        for index, line in enumerate(lines):
            page.drawString(x, 720 - 12 * index, line)
    page.showPage()
    page.setFont("Times-Roman", 10)
    for row, cells in enumerate([["Harbour", "High", "Low"], ["Brest", "2.05", "0.75"], ["Oslo", "0.31", "0.12"], ["Kiel", "0.20", "0.10"]]):
        for column, text in enumerate(cells):
            page.drawString(60 + 120 * column, 700 - 14 * row, text)
    page.drawString(60, 600, "\u2022 measured in metres")
    page.showPage()
    page.save()


def scan():
    page = canvas.Canvas(str(HERE / "scan.pdf"), pagesize=A4)
    picture = HERE / "scan.ppm"
    picture.write_bytes(b"P6 8 8 255 " + bytes(range(192)))
    page.drawImage(str(picture), 0, 0, *A4)
    page.showPage()
    page.save()
    picture.unlink()


if __name__ == "__main__":
    report()
    sales()
    slides()
    paper()
    scan()
