"""A draft shows the first line of a file only where it is a line of column names, and never quotes it otherwise."""

import re

import pytest
from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.errors import SourceError
from sfumato.private.intake.drafts import draft_schema
from sfumato.private.intake.header import looks_like_names
from sfumato.public.schema.schema import Schema

HEADERS = [
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,income",
    "patient,age,ward,seen,weight,grade,smoker",
    "PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked",
    "id,diagnosis,radius_mean,texture_mean,perimeter_mean",
    "Alter,Geschlecht,Einkommen (EUR),Größe [cm]",
    "edad,sexo,provincia",
    "x1,x2,x3,x4,y",
    "Time,V1,V2,V3,V4,V5,Amount,Class",
    "pixel0,pixel1,pixel2,label",
    "income_2020,income_2021,region",
    "carat,cut,color,clarity,depth,table,price,x,y,z",
    "instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,casual,registered,cnt",
    "fixed acidity,volatile acidity,citric acid,residual sugar,chlorides,density,pH,sulphates,alcohol,quality",
    "class,cap-shape,cap-surface,cap-color,bruises,odor,gill-attachment",
    "tenure_group,phone_lines,online_backup,TechSupport,streaming_tv,churn",
    "SeniorCitizen,Dependents,PaperlessBilling,MonthlyCharges,TotalCharges,Churn",
    "MedInc,HouseAge,AveRooms,AveBedrms,AveOccup,Lat",
    "chlorides,free_sulfur_dioxide,total_sulfur_dioxide,volatile_acidity,citric_acid,quality",
    "name",
]
ROWS = {
    "numbers": "41,80.5,3",
    "mixed": "anna,41,rome,true",
    "mixed with an id": "P00123456,female,rome",
    "a date": "2020-01-31,rome,anna",
    "an e-mail": "anna@example.org,rome,female",
    "a missing value": "anna,NA,rome",
    "an empty cell": "anna,,rome",
    "yes and no": "anna,yes,divorced",
    "words": "anna,berlin,divorced",
    "one word": "anna",
    "words with marks": "Self-emp-not-inc,HS-grad,Never-married,Exec-managerial,White,Male",
    "letters": "p,x,s,n,t",
    "a sentence": "She came back on Monday; no fever,rome,anna",
    "codes": "E11.9,I10,J45.0",
    "a telephone number": "tel 0301234567,anna,rome",
    "words joined by marks": "self-emp,some-college,never-married,exec-managerial",
    "two joined words": "self_emp,some_college,never_married",
    "joined words among others": "never_married,berlin,anna,white,male",
    "joined words and names": "never_married,Van der Berg,self_emp,some_college",
    "one usual word among others": "education,berlin,divorced,white",
}


@pytest.mark.parametrize("line", HEADERS)
def test_usual_headers_are_shown(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"{line}\n" + ",".join("1" * (line.count(",") + 1)))
    draft = draft_schema(tmp_path / "t.csv")
    names = re.findall(r'^(?:# )?"(.*)" = ', draft, re.MULTILINE)  # with those that are proposed to be left out
    assert names == line.split(",")
    assert {c.name for c in Schema.parse(draft).columns} <= set(names)


@pytest.mark.parametrize("case", ROWS)
def test_a_row_is_never_shown(tmp_path, case):
    """Whatever follows it: two rows of words cannot be told from a header and a row, so they are refused."""
    said = set()
    for rest in ("", f"\n{ROWS[case]}", "\nage,sex,income", "\n1,2,3"):
        path = tmp_path / "t.csv"
        path.write_text(ROWS[case] + rest + "\n")
        with pytest.raises(SourceError) as caught:
            draft_schema(path)
        result = CliRunner().invoke(app, ["schema", str(path), "--json"])
        assert result.exit_code == 1
        for cell in ROWS[case].split(","):
            assert len(cell) < 2 or cell not in (str(caught.value) + result.output).replace(str(tmp_path), "")
        said.add(str(caught.value))
    # One sentence, whatever the row holds.
    assert said == {
        f"the first line of {path} does not look like column names, and may be a private row. Add a header line; "
        "if the line is one, say so with --header (in Python: header=True)."
    }


def test_a_person_may_say_that_it_is_a_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("anna,berlin,41\n1,2,3\n")
    result = CliRunner().invoke(app, ["schema", str(path), "--header"])
    assert result.exit_code == 0
    assert [column.name for column in Schema.parse(result.stdout).columns] == ["anna", "berlin", "41"]
    path.write_text("anna,,41\n1,2,3\n")
    with pytest.raises(SourceError, match="lacks a name") as caught:
        draft_schema(path, header=True)
    assert "anna" not in str(caught.value)


def test_no_cells_and_equal_cells_are_no_names():
    assert not looks_like_names([])
    assert not looks_like_names(["age", "age"])
    assert not looks_like_names(["age" * 30])
